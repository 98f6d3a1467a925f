/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

/**
 * Options for experts of the kinds that go to one rank and may end at once.
 *
 * @param <A> the options of the kind
 */
abstract class AdvancedPost<A extends AdvancedPost<A>> extends AdvancedOf<A> {
  AdvancedPost(OpOptions of) {
    super(of);
  }

  /**
   * Chooses the device on which the operation is posted and signalled, and with it the loop that
   * serves the device. Default 0. A {@link Poster} takes the first device of its loop instead of
   * one that its loop does not serve.
   *
   * @param index 0 to the number of devices - 1
   * @return these options
   */
  public final A device(int index) {
    return setDevice(index);
  }

  /**
   * Allows or forbids the answer <em>done</em>. When it is forbidden, the completion target is
   * signalled even if the operation finished at once. Default: allowed, but forbidden by {@link
   * Op#completeTo}.
   *
   * @param allowed whether done is allowed
   * @return these options
   */
  public final A allowDone(boolean allowed) {
    options().doneAllowed = allowed;
    return self();
  }
}
