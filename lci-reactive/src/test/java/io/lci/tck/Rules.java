/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.tck;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.reactivestreams.tck.TestEnvironment;
import org.testng.SkipException;
import org.testng.annotations.Test;

/** Runs all tests of a verification of the TCK, and counts. */
final class Rules {
  private static final long DEADLINE_MILLIS = 60_000;
  private static final long SILENCE_MILLIS = 20;

  /** Why a rule is not held against a publisher. */
  enum Skip {
    /** It has one subscriber at a time. */
    UNICAST("unicast"),
    /** It has fewer elements than the rule needs. */
    SHORT("too few elements"),
    /** It does not end; the same is run through {@code take(n)}, which does. */
    ENDLESS("no end"),
    /** It cannot be made to fail at once. */
    NO_FAILURE("no failed state");

    final String text;

    Skip(String text) {
      this.text = text;
    }
  }

  /** The rules that ask for several subscribers: the only ones that a unicast publisher skips. */
  private static final Set<String> OF_SEVERAL_SUBSCRIBERS =
      Set.of(
          "optional_spec111_maySupportMultiSubscribe",
          "optional_spec111_registeredSubscribersMustReceiveOnNextOrOnCompleteSignals",
          "optional_spec111_multicast_mustProduceTheSameElementsInTheSameSequenceToAllOfItsSubscribersWhenRequestingManyUpfront",
          "optional_spec111_multicast_mustProduceTheSameElementsInTheSameSequenceToAllOfItsSubscribersWhenRequestingManyUpfrontAndCompleteAsExpected",
          "optional_spec111_multicast_mustProduceTheSameElementsInTheSameSequenceToAllOfItsSubscribersWhenRequestingOneByOne",
          "required_spec111_mustSupportMultiSubscribe");

  /**
   * It gives the collector a tenth of a second, which it may not have on a busy machine. A
   * publisher that keeps its subscriber does so at each try.
   */
  private static final String OF_THE_COLLECTOR =
      "required_spec313_cancelMustMakeThePublisherEventuallyDropAllReferencesToTheSubscriber";

  private static final int TRIES_OF_THE_COLLECTOR = 20;

  int passed;
  final Map<Skip, Integer> skipped = new EnumMap<>(Skip.class);
  final List<String> faults = new ArrayList<>();

  static TestEnvironment environment() {
    return new TestEnvironment(DEADLINE_MILLIS, SILENCE_MILLIS, SILENCE_MILLIS);
  }

  /**
   * Runs every test of the verification but those that the TCK itself cannot do.
   *
   * @param verification an instance of one of the TCK's classes
   */
  void run(Object verification) throws ReflectiveOperationException {
    Method setUp = verification.getClass().getMethod("setUp");
    for (Method test : tests(verification)) {
      int tries = test.getName().equals(OF_THE_COLLECTOR) ? TRIES_OF_THE_COLLECTOR : 1;
      Throwable thrown;
      do {
        setUp.invoke(verification);
        thrown = thrownBy(test, verification);
      } while (thrown != null && !(thrown instanceof SkipException) && --tries > 0);
      if (thrown == null) {
        passed++;
      } else {
        judge(test.getName(), thrown);
      }
    }
  }

  private static Throwable thrownBy(Method test, Object verification)
      throws IllegalAccessException {
    try {
      test.invoke(verification);
      return null;
    } catch (InvocationTargetException e) {
      return e.getTargetException();
    }
  }

  private static List<Method> tests(Object verification) {
    return Stream.of(verification.getClass().getMethods())
        .filter(method -> method.isAnnotationPresent(Test.class))
        .filter(method -> !method.getName().startsWith("untested_"))
        .sorted(Comparator.comparing(Method::getName))
        .toList();
  }

  private void judge(String test, Throwable thrown) {
    Skip reason = thrown instanceof SkipException ? reason(test, thrown.getMessage()) : null;
    if (reason == null) {
      faults.add(test + ": " + thrown);
    } else {
      skipped.merge(reason, 1, Integer::sum);
    }
  }

  private static Skip reason(String test, String message) {
    if (message.contains("requires an onComplete signal")) {
      return Skip.ENDLESS;
    }
    if (message.contains("higher than supported")) {
      return Skip.SHORT;
    }
    if (message.contains("error state Publisher")) {
      return Skip.NO_FAILURE;
    }
    return OF_SEVERAL_SUBSCRIBERS.contains(test) ? Skip.UNICAST : null;
  }

  /** Skips that are not of the publisher's kind are faults. */
  void allow(Set<Skip> reasons) {
    skipped.forEach(
        (reason, count) -> {
          if (!reasons.contains(reason)) {
            faults.add(count + " rules were skipped: " + reason.text);
          }
        });
  }

  /** Such as {@code 12 unicast, 3 no end}. */
  String skips() {
    List<String> parts = new ArrayList<>();
    skipped.forEach((reason, count) -> parts.add(count + " " + reason.text));
    return String.join(", ", parts);
  }
}
