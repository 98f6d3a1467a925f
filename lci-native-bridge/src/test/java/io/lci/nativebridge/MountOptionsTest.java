/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class MountOptionsTest {

  private static final List<String> TABLE =
      List.of(
          "22 1 259:1 / / rw,relatime shared:1 - ext4 /dev/root rw",
          "30 22 0:26 / /tmp rw,nosuid,nodev,noexec shared:5 - tmpfs tmpfs rw",
          "31 30 0:27 / /tmp/with\\040space rw shared:6 - tmpfs tmpfs rw",
          "32 22 0:28 / /data rw,noexec - tmpfs tmpfs rw",
          "33 22 0:29 / /data rw - tmpfs tmpfs rw",
          "34");

  @Test
  void theNearestMountDecides() {
    assertThat(MountOptions.noexecMountOf(Path.of("/tmp/x/lci.so"), TABLE)).isEqualTo("/tmp");
    assertThat(MountOptions.noexecMountOf(Path.of("/tmp/with space/lci.so"), TABLE)).isNull();
    assertThat(MountOptions.noexecMountOf(Path.of("/tmpfile"), TABLE)).isNull();
    assertThat(MountOptions.noexecMountOf(Path.of("/home/x"), TABLE)).isNull();
  }

  @Test
  void theLastMountOnAPlaceHidesTheOthers() {
    assertThat(MountOptions.noexecMountOf(Path.of("/data/lci.so"), TABLE)).isNull();
  }

  @Test
  void aFileThatIsGoneHasNoAnswer() {
    assertThat(MountOptions.noexecMountOf(Path.of("/no/such/file"))).isNull();
  }
}
