/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import io.lci.metrics.RpcObservations.ClientConvention;
import io.lci.metrics.RpcObservations.ServerConvention;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.observation.ObservationRegistry;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * How the meters of a runtime look. Immutable. There is no option for the names: the dashboard and
 * the alerts know them, and a {@code MeterFilter} of the registry can rename what must have another
 * name.
 *
 * @since 0.1
 */
public final class MetricsOptions {
  /** Prometheus sets these for each target, and renames tags of the target with the same name. */
  private static final List<String> REFUSED = List.of("job", "instance");

  private static final MetricsOptions DEFAULTS =
      new MetricsOptions(Tags.empty(), 0, ObservationRegistry.NOOP, null, null);

  private final Tags extraTags;
  private final int peerRanks;
  private final ObservationRegistry observations;
  private final @Nullable ClientConvention client;
  private final @Nullable ServerConvention server;

  private MetricsOptions(
      Tags extraTags,
      int peerRanks,
      ObservationRegistry observations,
      @Nullable ClientConvention client,
      @Nullable ServerConvention server) {
    this.extraTags = extraTags;
    this.peerRanks = peerRanks;
    this.observations = observations;
    this.client = client;
    this.server = server;
  }

  /** {@return options without extra tags, peers' ranks and observations} */
  public static MetricsOptions defaults() {
    return DEFAULTS;
  }

  /**
   * With tags that every meter gets; several runtimes at one registry need some that tell them
   * apart.
   *
   * @param tags few values, known beforehand; no key of {@link LciTags}, not {@code job} or {@code
   *     instance}
   * @return options
   * @throws IllegalArgumentException for a key that is not allowed
   */
  public MetricsOptions withExtraTags(Iterable<Tag> tags) {
    Set<String> taken = new HashSet<>(REFUSED);
    Arrays.stream(LciTags.values()).map(LciTags::asString).forEach(taken::add);
    for (Tag tag : tags) {
      if (taken.contains(tag.getKey())) {
        throw new IllegalArgumentException(
            "tag '" + tag.getKey() + "' is the meters' own, or one that Prometheus sets");
      }
    }
    return new MetricsOptions(Tags.of(tags), peerRanks, observations, client, server);
  }

  /**
   * With series for single peers where a meter has tag {@code peer}: each is one more for every
   * port. By default one series stands for all peers.
   *
   * @param most ranks below this have series of their own, the rest share the one of {@code other};
   *     0 for none
   * @return options
   * @throws IllegalArgumentException if negative
   */
  public MetricsOptions withPeerRanks(int most) {
    if (most < 0) {
      throw new IllegalArgumentException("peer ranks must not be negative: " + most);
    }
    return new MetricsOptions(extraTags, most, observations, client, server);
  }

  /**
   * With observations of remote procedure calls ({@link RpcObservations}), for traces and timers.
   * Only {@link LciMetrics#instrumentation} makes them.
   *
   * @param registry where they go
   * @return options
   */
  public MetricsOptions withObservations(ObservationRegistry registry) {
    return new MetricsOptions(extraTags, peerRanks, registry, client, server);
  }

  /**
   * With other names and key values of observations.
   *
   * @param forClients of the asking side; null for the default
   * @param forServers of the serving side; null for the default
   * @return options
   */
  public MetricsOptions withConventions(
      @Nullable ClientConvention forClients, @Nullable ServerConvention forServers) {
    return new MetricsOptions(extraTags, peerRanks, observations, forClients, forServers);
  }

  /** {@return the tags that every meter gets} */
  public Tags extraTags() {
    return extraTags;
  }

  /** {@return how many peers have series of their own} */
  public int peerRanks() {
    return peerRanks;
  }

  /** {@return where observations go; {@link ObservationRegistry#NOOP} by default} */
  public ObservationRegistry observations() {
    return observations;
  }

  @Nullable ClientConvention clientConvention() {
    return client;
  }

  @Nullable ServerConvention serverConvention() {
    return server;
  }

  /** The value of tag {@code peer}. */
  String peerTag(int rank) {
    if (peerRanks == 0) {
      return "all";
    }
    return rank >= 0 && rank < peerRanks ? Integer.toString(rank) : "other";
  }
}
