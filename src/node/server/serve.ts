import { VERSION } from '../../system/version.ts';
import { startDemo } from './demo.ts';
import { limitHeapGrowth } from './heap.ts';
import { type RunningServer, type ServerOptions, startServer } from './server.ts';

/** The parts of a process that `serve` uses: signals, and a way to exit at once. */
export interface ProcessHost {
  readonly stdout: NodeJS.WritableStream;
  on(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown;
  off(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown;
  exit(code: number): void;
}

/**
 * npm passes on a Ctrl-C that the terminal has sent to the server already, so one key press arrives as two signals.
 * A second signal within this time is taken for the same key press.
 */
const sameSignalMs = 500;

export interface ServeOptions extends ServerOptions {
  /** Where the demo is served; 0 takes any free port, undefined serves none. */
  readonly demoPort?: number | undefined;
}

interface Service {
  /** Printed when it runs. */
  readonly lines: readonly string[];
  close(): Promise<unknown>;
}

/**
 * Serves until SIGINT or SIGTERM, then resolves with the exit code. A second signal ends the process at once. So does a
 * failure to close, because what hangs would keep the process alive; the log says what failed.
 */
export async function serve(options: ServeOptions, host: ProcessHost): Promise<number> {
  limitHeapGrowth();
  const server = await startService(options);
  const signalled = nextSignal(host);
  host.stdout.write(server.lines.map((line) => `${line}\n`).join(''));
  await signalled;
  const signalledAt = performance.now();
  const stopAtOnce = () => {
    if (performance.now() - signalledAt > sameSignalMs) host.exit(1);
  };
  host.on('SIGINT', stopAtOnce);
  host.on('SIGTERM', stopAtOnce);
  const isClosed = await server.close().then(
    () => true,
    () => false,
  );
  if (!isClosed) host.exit(1);
  host.off('SIGINT', stopAtOnce);
  host.off('SIGTERM', stopAtOnce);
  return isClosed ? 0 : 1;
}

async function startService(options: ServeOptions): Promise<Service> {
  const { host, allowedHosts, demoPort } = options;
  const server = await startServer(options);
  const demo = demoPort === undefined ? undefined : await startDemo({ host, allowedHosts, port: demoPort });
  if (demo === undefined || typeof demo === 'string') {
    return { lines: [describe(server), ...(demo === undefined ? [] : [demo])], close: () => server.close() };
  }
  return {
    lines: [describe(server), `The demo is at ${demo.url}`],
    close: () => Promise.all([demo.close(), server.close()]),
  };
}

function describe({ url, dataFolder }: RunningServer): string {
  const storage = dataFolder === undefined ? 'keeps its data in memory only' : `keeps its data in ${dataFolder}`;
  return `Settee ${VERSION} answers at ${url} and ${storage}`;
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
