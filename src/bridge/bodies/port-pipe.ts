/** Steps of a body over a MessagePort of its own: the way between a page and its worker. */

import type { BodyStep } from '../wire/wire.ts';
import { asBodyStep } from '../wire/wire-decoding.ts';
import type { StepPipe } from './steps.ts';

export interface PortPipeOptions {
  /** Chunks are given away instead of copied, where a chunk is all there is of its buffer. Only for chunks that nobody else keeps. */
  readonly isGivingAway?: boolean;
}

export function portPipe(port: MessagePort, options: PortPipeOptions = {}): StepPipe {
  const isGivingAway = options.isGivingAway === true;
  return {
    send: (step) => port.postMessage(step, isGivingAway ? ownedBuffers(step) : []),
    listen: (listener) => {
      port.onmessage = ({ data }: MessageEvent<unknown>) => {
        const step = asBodyStep(data);
        if (step !== undefined) listener(step);
      };
    },
    close: () => port.close(),
  };
}

function ownedBuffers(step: BodyStep): Transferable[] {
  if (step.step !== 'chunk') return [];
  const { buffer, byteLength } = step.bytes;
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}
