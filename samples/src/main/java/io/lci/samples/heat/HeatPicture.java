/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.heat;

import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Path;
import javax.imageio.ImageIO;

/** A plate as a picture: black is cold, then red, yellow and white. */
final class HeatPicture {
  private static final int MOST = 255;

  /** The three colours come up one after the other. */
  private static final int STAGES = 3;

  private HeatPicture() {}

  /**
   * Writes it as PNG.
   *
   * @param plate all rows, one after the other, from 0 to 1
   * @param cells of each edge
   */
  static void write(double[] plate, int cells, Path file) throws IOException {
    BufferedImage picture = new BufferedImage(cells, cells, BufferedImage.TYPE_INT_RGB);
    for (int row = 0; row < cells; row++) {
      for (int column = 0; column < cells; column++) {
        picture.setRGB(column, row, color(plate[row * cells + column]));
      }
    }
    if (!ImageIO.write(picture, "png", file.toFile())) {
      throw new IOException("this Java writes no PNG");
    }
  }

  static int color(double heat) {
    int color = 0;
    for (int stage = 0; stage < STAGES; stage++) {
      double part = Math.min(1, Math.max(0, heat * STAGES - stage));
      color = color << Byte.SIZE | (int) Math.round(MOST * part);
    }
    return color;
  }
}
