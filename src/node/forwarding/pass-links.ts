import { createConnection } from 'node:net';
import type { Upgrade } from '../http/upgrade.ts';
import { LINK_PATH } from './accepted-links.ts';
import { frameOf, PASSED, PROTOCOL } from './frames.ts';

interface PassingOptions {
  /** Of the owner's socket. */
  readonly path: string;
  readonly secret: string;
}

/** For a reader whose owner takes links (`SentSettings.takesLinks`), and which shares the port of its server: passes links of other servers on to the owner, byte by byte. The owner asks their other ends for the proof. */
export function passLinks({ path, secret }: PassingOptions): Upgrade {
  let isClosing = false;
  return {
    path: LINK_PATH,
    protocol: PROTOCOL,
    isOffered: () => !isClosing,
    take: (socket, peer) => {
      const owner = createConnection(path);
      for (const part of frameOf(PASSED, 0, `${PROTOCOL} ${secret} ${peer}`)) owner.write(part);
      for (const [one, other] of [
        [socket, owner],
        [owner, socket],
      ] as const) {
        // 'close' comes after it.
        one.on('error', () => undefined);
        one.once('close', () => other.destroySoon());
        one.pipe(other);
      }
    },
    // The owner asks the other ends to close.
    beginClose: () => {
      isClosing = true;
    },
  };
}
