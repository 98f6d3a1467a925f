/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.heat;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.samples.EachRank;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.awt.image.BufferedImage;
import java.nio.file.Path;
import java.util.List;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.publisher.Mono;

/** The plate is the same, bit for bit, on any number of ranks. */
@ExtendWith(LciLeakCheck.class)
class HeatTest {
  private static final int EVERY = 10;
  private static final double LEAST = 1e-3;

  @TempDir Path folder;

  /** As one array and two loops, to compare with. */
  private static double[] reference(int cells, int steps) {
    Plate plate = new Plate(cells, 0, cells);
    double[][] now = new double[cells][];
    for (int row = 0; row < cells; row++) {
      now[row] = plate.row(row).clone();
    }
    double[][] first = now;
    for (int step = 0; step < steps; step++) {
      double[][] next = new double[cells][cells];
      for (int row = 0; row < cells; row++) {
        for (int column = 0; column < cells; column++) {
          boolean rim = row == 0 || column == 0 || row == cells - 1 || column == cells - 1;
          next[row][column] =
              rim || first[row][column] == 1
                  ? now[row][column]
                  : (now[row - 1][column]
                          + now[row + 1][column]
                          + now[row][column - 1]
                          + now[row][column + 1])
                      / 4;
        }
      }
      now = next;
    }
    double[] all = new double[cells * cells];
    for (int row = 0; row < cells; row++) {
      System.arraycopy(now[row], 0, all, row * cells, cells);
    }
    return all;
  }

  private record Outcome(int steps, double[] plate) {}

  private static List<Outcome> run(int ranks, int cells, int steps, boolean chaos) {
    try (LciTestJob job = LciTestJob.start(ranks, EachRank.options(chaos).build())) {
      return EachRank.run(
          job,
          lci ->
              Mono.fromCallable(
                  () -> {
                    Strip strip = new Strip(lci, cells);
                    int taken = strip.run(steps, EVERY, LEAST);
                    double[] plate = strip.gather();
                    return new Outcome(taken, plate == null ? new double[0] : plate);
                  }));
    }
  }

  @ParameterizedTest(name = "{0} ranks, {1} cells, chaos {3}")
  @CsvSource({
    "1,20,60,false",
    "2,20,60,false",
    "3,20,60,false",
    "4,33,60,false",
    "4,4,20,false",
    "3,20,40,true"
  })
  void thePlateIsThatOfOneRank(int ranks, int cells, int steps, boolean chaos) {
    List<Outcome> outcomes = run(ranks, cells, steps, chaos);
    int taken = outcomes.get(0).steps;
    assertThat(outcomes).hasSize(ranks).allMatch(each -> each.steps == taken);
    assertThat(outcomes.get(0).plate).isEqualTo(reference(cells, taken));
    assertThat(outcomes.get(0).plate).contains(1.0);
  }

  @Test
  void itEndsWhenLittleChanges() {
    List<Outcome> outcomes = run(2, 16, 10_000, false);
    assertThat(outcomes.get(0).steps).isBetween(EVERY, 9_999);
    double[] later = reference(16, outcomes.get(0).steps + 1);
    for (int i = 0; i < later.length; i++) {
      assertThat(Math.abs(later[i] - outcomes.get(0).plate[i])).isLessThan(LEAST);
    }
  }

  @Test
  void thePictureShowsThePlate() throws Exception {
    Path file = folder.resolve("heat.png");
    HeatPicture.write(new double[] {0, 1, 1.0 / 3, 2.0 / 3}, 2, file);
    BufferedImage picture = ImageIO.read(file.toFile());
    assertThat(picture.getWidth()).isEqualTo(2);
    assertThat(picture.getRGB(0, 0) & 0xffffff).isZero();
    assertThat(picture.getRGB(1, 0) & 0xffffff).isEqualTo(0xffffff);
    assertThat(picture.getRGB(0, 1) & 0xffffff).isEqualTo(0xff0000);
    assertThat(picture.getRGB(1, 1) & 0xffffff).isEqualTo(0xffff00);
  }
}
