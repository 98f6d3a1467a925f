/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import reactor.core.Disposable;
import reactor.core.publisher.Mono;

/**
 * Ranks of the job, in an order: its members are numbered from 0. {@link io.lci.LciRuntime#world()}
 * is the group of all ranks, and makes the others. Any thread.
 *
 * <p>Making groups and contexts takes no communication: each member does it with the same
 * arguments, when it likes. Equal arguments give the same object, until it is disposed of.
 *
 * <p>Its own calls go by device 0, in a context of their own. {@code dispose} ends that as {@link
 * CollectiveContext} says; other contexts of the group go on.
 *
 * @since 0.1
 */
public interface Group extends Collectives, Disposable {
  /** {@return the number of this rank in the group, from 0} */
  int rank();

  /** {@return how many members the group has} Fixed. */
  int size();

  /**
   * The rank of a member in the job.
   *
   * @param member 0 to {@code size() - 1}
   * @return its rank
   */
  int worldRank(int member);

  /**
   * A group of some of the members.
   *
   * @param key groups of the same members with different keys are different groups
   * @param members their numbers in this group, in the order that they have in the new one; this
   *     rank is one of them, and none is there twice
   * @return the group; the same for equal members and key. One that was disposed of is made anew;
   *     its own calls fail with {@link IllegalStateException} until those of the one before are
   *     over
   * @throws IllegalArgumentException if the members are none, or not as above
   */
  Group subgroup(long key, int... members);

  /**
   * Divides the group: each member says where it belongs, and gets the group of those that say the
   * same.
   *
   * @param color members with an equal one are in one group; a member with a negative one is in
   *     none
   * @param order the members of a new group are ordered by it, and those with an equal one as in
   *     this group
   * @return one call of this group per subscription, as {@link Collectives#allGather}; emits what
   *     {@link #subgroup} gives for the colour as key and these members, so the same object each
   *     time that they are the same; completes empty for a negative colour. Cancel as for a call;
   *     errors are those of {@code allGather} and {@code subgroup}
   */
  Mono<Group> split(int color, int order);

  /**
   * All living members agree on a value, also where calls have failed, the group was revoked, or
   * members die meanwhile: every member that gets an outcome gets the same. Agreements, of this
   * method and of {@link #shrink}, have numbers of their own, apart from those of calls; members
   * make them in one order. A member that has left or died is not waited for, and a living one is.
   *
   * @param value what this member says
   * @return one agreement per subscription, made at its first request, after the one before has
   *     ended; emits on the loop of device 0 whether all said {@code true} whose word was heard.
   *     Cancel detaches the subscriber; this member still takes part. Ends with {@link
   *     io.lci.error.LciClosedException} when the runtime closes, after {@code dispose}, or where
   *     the others count this rank as dead
   * @throws IllegalStateException in a group of more than 1,024 members
   */
  Mono<Boolean> agree(boolean value);

  /**
   * Makes a group of the members that live: those that left or died as far as any member knew are
   * not in it. Works as {@link #agree} does, which it is. The new group begins anew, whatever has
   * failed in this one; if a member dies meanwhile, its first call fails, and it may shrink, too.
   *
   * @return one agreement per subscription, as {@link #agree}; emits the same group on all members,
   *     and another one at each agreement; its members have the order of this group. Cancel and
   *     errors such as {@link io.lci.error.LciClosedException} as there
   * @throws IllegalStateException in a group of more than 1,024 members
   */
  Mono<Group> shrink();

  /**
   * Gives the group up, on all members. The calls of all its contexts end that a member has not
   * completed, and later ones fail, with {@link io.lci.error.CollectiveFailedException}; contexts
   * that are made later fail as well. {@link #agree}, {@link #shrink}, groups made of this one and
   * their calls go on. Members hear of it when their loops run. The first revocation counts, and
   * stays: equal arguments give a revoked group again.
   *
   * @param reason what the errors say; about 300 characters travel
   * @throws io.lci.error.LciClosedException if the runtime closes
   */
  void revoke(String reason);

  /**
   * A context on device 0.
   *
   * @param key see {@link #context(long, int)}
   * @return the context
   */
  default CollectiveContext context(long key) {
    return context(key, 0);
  }

  /**
   * A context: an order of calls of its own.
   *
   * @param key contexts of a group with different keys are different contexts; {@link
   *     Long#MIN_VALUE} is that of the group's own calls
   * @param device number of the device that its calls go by, the same on all members
   * @return the context; the same for an equal key and device
   * @throws IllegalArgumentException if this rank has no such device, or the key is the group's own
   * @throws IllegalStateException if it was disposed of, and calls or streams that were subscribed
   *     to before that have not ended
   * @throws io.lci.error.ResourceExhaustedException beyond 1,024 contexts of a rank, or without
   *     memory: each takes about 4 KiB for each member
   */
  CollectiveContext context(long key, int device);
}
