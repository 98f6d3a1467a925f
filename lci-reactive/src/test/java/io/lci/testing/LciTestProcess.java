/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.testing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;

/** For tests whose ranks are processes: JVMs like this one, and the directory where they meet. */
public final class LciTestProcess {

  /** Options of JVMs that run for a second or two: no time for a compiler that pays off later. */
  private static final List<String> SHORT_LIVED =
      List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC");

  private LciTestProcess() {}

  /**
   * A JVM with this one's class path and native library, for a second or two: it optimizes little.
   *
   * @param main its main class
   * @param options more options of the JVM; they win
   * @param arguments arguments of the main class
   * @return not yet started
   */
  public static ProcessBuilder java(Class<?> main, List<String> options, String... arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(SHORT_LIVED);
    command.addAll(options);
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    for (String name : List.of("lci.native.path", "lci.native.dir", "lci.native.calls")) {
      if (System.getProperty(name) != null) {
        command.add("-D" + name + "=" + System.getProperty(name));
      }
    }
    command.add(main.getName());
    command.addAll(Arrays.asList(arguments));
    return new ProcessBuilder(command);
  }

  /**
   * Makes the directory of a job as the launcher does.
   *
   * @param path where; it must not exist
   * @return the same
   * @throws IOException if it cannot be made
   */
  public static Path jobDirectory(Path path) throws IOException {
    SecureRandom random = new SecureRandom();
    byte[] secret = new byte[32];
    random.nextBytes(secret);
    byte[] id = new byte[8];
    random.nextBytes(id);
    Files.createDirectory(path, mode("rwx------"));
    Files.write(Files.createFile(path.resolve("secret"), mode("rw-------")), secret);
    Files.writeString(path.resolve("job"), HexFormat.of().formatHex(id));
    return path;
  }

  private static java.nio.file.attribute.FileAttribute<Set<PosixFilePermission>> mode(String text) {
    return PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(text));
  }
}
