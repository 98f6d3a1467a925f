/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.runtime;

import io.lci.PeerEvent;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.LoopHost;

/** Passes on what the loops of a runtime tell: they run only when all its parts are there. */
final class RuntimeHost implements LoopHost {
  private final RuntimeImpl runtime;

  RuntimeHost(RuntimeImpl runtime) {
    this.runtime = runtime;
  }

  @Override
  public void lookAtObjects() {
    runtime.objects.look();
  }

  @Override
  public void tidy() {
    runtime.log.passOn();
    runtime.objects.freeUnused();
  }

  @Override
  public void peerChanged(EventLoop loop, PeerEvent event) {
    runtime.peers.changed(loop, event);
  }

  @Override
  public void loopEnding(EventLoop loop) {
    runtime.peers.loopEnding(loop);
  }

  @Override
  public void loopEnded() {
    runtime.shutdown.loopEnded();
  }

  @Override
  public void loopFailed(Throwable reason) {
    runtime.shutdown.failed(reason);
  }
}
