import type { SuiteOutcome } from '../outcome.ts';

/** Starts the worker that its address names, which runs a suite by itself, and keeps what it tells. */
const name = new URLSearchParams(location.search).get('worker');
const worker = new Worker(`/workers/${name}.js`, { type: 'module' });
worker.onmessage = ({ data }: MessageEvent<SuiteOutcome>) => {
  Reflect.set(globalThis, 'suiteOutcome', data);
};
worker.onerror = (event) => {
  throw new Error(`the worker failed: ${event.message}`);
};
