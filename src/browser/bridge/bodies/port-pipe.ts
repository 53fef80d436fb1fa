/** Steps of a body over a MessagePort of its own: the route between a page and its worker. */
import { asBodyStep } from '../wire/wire-decoding.ts';
import { type StepPipe, toMovable } from './steps.ts';

export function portPipe(port: MessagePort): StepPipe {
  return {
    send: (step, isMovable = false) => port.postMessage(step, isMovable ? toMovable(step, true).transfer : []),
    listen: (listener) => {
      port.onmessage = ({ data }: MessageEvent<unknown>) => {
        const step = asBodyStep(data);
        if (step !== undefined) listener(step);
      };
    },
    close: () => port.close(),
  };
}
