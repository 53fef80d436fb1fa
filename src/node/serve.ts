import { VERSION } from '../system/version.ts';
import { shapeHeap } from './heap.ts';
import { type RunningServer, type ServerOptions, startServer } from './server.ts';

/** What the process gives: signals, and the means to end at once. */
export interface ProcessHost {
  readonly stdout: NodeJS.WritableStream;
  on(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown;
  off(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown;
  exit(code: number): void;
}

/**
 * npm passes on a Ctrl-C that the terminal has sent to the server already, so one key press comes as two signals.
 * A second one this soon is the same one.
 */
const sameSignalMs = 500;

/** Serves until SIGINT or SIGTERM, then resolves with the exit code. A second signal ends the process at once. */
export async function serve(options: ServerOptions, host: ProcessHost): Promise<number> {
  shapeHeap();
  const server = await startServer(options);
  const signalled = nextSignal(host);
  host.stdout.write(`${describe(server)}\n`);
  await signalled;
  const signalledAt = performance.now();
  const stopAtOnce = () => {
    if (performance.now() - signalledAt > sameSignalMs) host.exit(1);
  };
  host.on('SIGINT', stopAtOnce);
  host.on('SIGTERM', stopAtOnce);
  await server.close();
  host.off('SIGINT', stopAtOnce);
  host.off('SIGTERM', stopAtOnce);
  return 0;
}

function describe({ url, dataFolder }: RunningServer): string {
  const place = dataFolder === undefined ? 'keeps its data in memory only' : `keeps its data in ${dataFolder}`;
  return `Settee ${VERSION} answers at ${url} and ${place}`;
}

function nextSignal(host: ProcessHost): Promise<void> {
  return new Promise((resolve) => {
    const onSignal = () => {
      host.off('SIGINT', onSignal);
      host.off('SIGTERM', onSignal);
      resolve();
    };
    host.on('SIGINT', onSignal);
    host.on('SIGTERM', onSignal);
  });
}
