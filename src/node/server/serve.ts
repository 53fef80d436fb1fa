import { setFlagsFromString } from 'node:v8';
import { VERSION } from '../../base/system/version.ts';
import { onEndSignals, type SignalHost } from '../terminal/end-signals.ts';
import { startDemo } from './demo.ts';
import { type RunningServer, type ServerOptions, startServer } from './server.ts';

/**
 * Limits how fast this process's JavaScript heap grows, for a server that mostly makes short-lived texts: between two
 * collections the old generation grows by 60 % of its live size instead of several times that. Measured with 250,000
 * documents of random ids written in batches: 220 MB of memory instead of 360, in the same time. (The young generation's
 * size is fixed when a process starts, so it can't be set here.)
 */
export function limitHeapGrowth(): void {
  setFlagsFromString('--heap-growing-percent=60');
}

/** The parts of a process that `serve` uses: signals, and a way to exit at once. */
export interface ProcessHost extends SignalHost {
  readonly stdout: NodeJS.WritableStream;
  exit(code: number): void;
}

export interface ServeOptions extends ServerOptions {
  /** The port of the demo; 0 takes any free port, undefined serves none. */
  readonly demoPort?: number | undefined;
  /** Processes that accept requests, besides the one that owns the databases. Default, and 1: one process does everything. */
  readonly workers?: number | undefined;
}

/** A server that runs, in this process or in others. */
export interface Served extends Omit<RunningServer, 'handle'> {
  /** Printed in addition. */
  readonly lines?: readonly string[] | undefined;
  /** Rejects if it ends by itself. */
  readonly failure?: Promise<never> | undefined;
}

interface Service {
  /** Printed when it runs. */
  readonly lines: readonly string[];
  close(): Promise<unknown>;
  readonly failure?: Promise<never> | undefined;
}

/**
 * Serves until SIGINT or SIGTERM, then resolves with the exit code. A second signal ends the process at once. So does a
 * failure to close, because a hung operation would keep the process alive; the log says what failed.
 */
export async function serve(
  options: ServeOptions,
  host: ProcessHost,
  start: (options: ServeOptions) => Promise<Served> = startServer,
): Promise<number> {
  limitHeapGrowth();
  const server = await startService(options, start);
  const signals = { stop: () => {} };
  const signalled = new Promise<void>((resolve) => {
    signals.stop = onEndSignals(host, resolve, () => host.exit(1));
  });
  host.stdout.write(server.lines.map((line) => `${line}\n`).join(''));
  const failed = await Promise.race(server.failure === undefined ? [signalled] : [signalled, server.failure]).then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  const isClosed = await server.close().then(
    () => true,
    () => false,
  );
  if (!isClosed) host.exit(1);
  signals.stop();
  if (failed !== undefined) throw failed.error;
  return isClosed ? 0 : 1;
}

async function startService(
  options: ServeOptions,
  start: (options: ServeOptions) => Promise<Served>,
): Promise<Service> {
  const { host, allowedHosts, demoPort } = options;
  const server = await start(options);
  const { failure } = server;
  const demo =
    demoPort === undefined ? undefined : await startDemo({ host, allowedHosts, port: demoPort, server: server.url });
  if (demo === undefined || typeof demo === 'string') {
    const lines = [
      ...describe(server),
      ...(demo === undefined ? [] : [demo]),
      ...server.presetLines,
      ...adviceFor(server),
    ];
    return { lines, close: () => server.close(), failure };
  }
  return {
    lines: [...describe(server), `The demo is at ${demo.url}`, ...server.presetLines, ...adviceFor(server)],
    close: () => Promise.all([demo.close(), server.close()]),
    failure,
  };
}

function describe({ url, place, standsByFor, lines = [] }: Served): string[] {
  if (standsByFor !== undefined)
    return [`Settee ${VERSION} at ${url} stands by for ${place}, which ${standsByFor} owns`];
  const storage = place === undefined ? 'keeps its data in memory only' : `keeps its data in ${place}`;
  return [
    `Settee ${VERSION} answers at ${url} and ${storage}`,
    ...lines,
    `Its administration page is at ${url}_utils/`,
  ];
}

function adviceFor({ hasAdmin, adminCommand }: Served): string[] {
  return hasAdmin
    ? []
    : [`It has no admin: anyone who can reach it may do everything. Set one and restart the server: ${adminCommand}`];
}
