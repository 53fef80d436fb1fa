import { crc32 } from 'node:zlib';
import { createCore } from '../../core.ts';
import { deferredAtHand } from '../../deferred/deferred-code.ts';
import { DatabaseError } from '../../errors/database-error.ts';
import { createQuickJsSandbox } from '../../query-server/programs/quickjs-sandbox.ts';
import { systemClock, systemRandom } from '../../shared/clock.ts';
import { createMemoryPageStore } from '../../storage/memory/memory-page-store.ts';
import { createConfig, integerSetting, sandboxMemoryBytes, unknownSettings } from '../../system/config.ts';
import { createLog, type LogLevel } from '../../system/log.ts';
import { holdsDatabases, openDataFolder, openStorage } from '../data-folder/data-folder.ts';
import { assertHostName } from '../http/host-check.ts';
import { assertLoopback, listen } from '../http/http-server.ts';
import { createListener } from '../http/listener.ts';
import { within } from './deadline.ts';
import { findMd5 } from './md5.ts';
import { readQuickJsWasm } from './quickjs-wasm.ts';
import { createSandboxWorkers } from './sandbox-workers.ts';

/**
 * How long the storage may take to close, in milliseconds. All it has to write by then is some megabytes for each open
 * database, so what takes longer hangs.
 */
const storageCloseMs = 20_000;

const DEFAULT_HOST = '127.0.0.1';

export interface ServerOptions {
  /** Where to listen; only loopback while there are no admins. Default `127.0.0.1`. */
  readonly host?: string | undefined;
  /**
   * Host names under which the server may be asked besides `localhost` and loopback addresses, such as that of a reverse
   * proxy on this machine. Requests for any other are refused, against DNS rebinding. Default: none.
   */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Default 5984; 0 takes any free port. */
  readonly port?: number | undefined;
  /** Where databases are kept; made if it is not there. Default `./data`. */
  readonly dataFolder?: string | undefined;
  /** Keep everything in memory instead, until `close`. Default false. */
  readonly memory?: boolean | undefined;
  /** Default `info`. */
  readonly logLevel?: LogLevel | undefined;
  /** Settings by section and key. */
  readonly config?: Readonly<Record<string, Readonly<Record<string, string>>>> | undefined;
  /** Takes each entry of the log, without a newline at its end. Default: stderr. */
  readonly onLog?: ((entry: string) => void) | undefined;
  /** How long the storage may take to close before `close` gives up on it. Default 20 seconds. */
  readonly storageCloseMs?: number | undefined;
}

export interface RunningServer {
  /** With a slash at the end. */
  readonly url: string;
  /** Absolute; undefined for a server in memory. */
  readonly dataFolder: string | undefined;
  /**
   * Lets running requests end (10 seconds at most), writes what is left to write, and frees the data folder. Rejects
   * with `storage_blocked` where the storage does not come to an end; the folder then stays locked until the process
   * ends, which loses nothing that was acknowledged.
   */
  close(): Promise<void>;
}

/** Fails with `bad_request` for a host beyond loopback, an allowed host that is no name, or a setting that can't be. */
export function assertServerOptions({ host = DEFAULT_HOST, allowedHosts = [], config }: ServerOptions): void {
  assertLoopback(host);
  for (const name of allowedHosts) assertHostName(name);
  createConfig(config);
}

/**
 * Serves a data folder over HTTP. Rejects with `storage_locked` while another process serves the same folder, with
 * `storage_corrupt` where the folder has lost its list of databases, with `storage_blocked` when the port is taken, with
 * `bad_request` where the options can't be (`assertServerOptions`).
 */
export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
  const { host = DEFAULT_HOST, port = 5984, memory = false, dataFolder = './data' } = options;
  assertServerOptions(options);
  const config = createConfig(options.config);
  const undo = new UndoList();
  try {
    const folder = memory ? undefined : await openDataFolder(dataFolder);
    let storageHangs = false;
    if (folder) {
      undo.add(() => (storageHangs ? undefined : folder.release()));
      await holdsDatabases(folder.databases);
    }
    const log = createLog({ level: options.logLevel ?? 'info', clock: systemClock, write: options.onLog ?? toStderr });
    for (const name of unknownSettings(options.config ?? {})) {
      log.error(`Setting ${name} is none that Settee reads, and changes nothing; see docs/node.md#settings.`);
    }
    const workers = createSandboxWorkers(config, log);
    const memoryBytes = sandboxMemoryBytes(config);
    const core = await createCore({
      storage: folder ? openStorage(folder.databases) : createMemoryPageStore({ crc32 }),
      clock: systemClock,
      random: systemRandom,
      config: options.config ?? {},
      log,
      // `icu` is missing where Node was built without it.
      engine: `node ${process.versions.v8}/${process.versions['icu'] ?? 'none'}`,
      md5: findMd5(),
      deferred: deferredAtHand(createQuickJsSandbox({ loadWasm: readQuickJsWasm, workers, memoryBytes })),
    });
    const closeMs = options.storageCloseMs ?? storageCloseMs;
    undo.add(() =>
      within(core.close(), closeMs, () => {
        storageHangs = true;
        return hangs(closeMs);
      }),
    );
    const http = await listen(
      createListener(core.handle, (request, error) => {
        // What the database refuses to go on with is logged there, if anybody has to look into it.
        if (!(error instanceof DatabaseError)) log.error(`${request} failed.`, error);
      }),
      host,
      port,
      { allowedHosts: options.allowedHosts, maxConnections: integerSetting(config, 'httpd', 'max_connections') },
    );
    undo.add(() => http.close());
    undo.add(() => core.beginShutdown());
    folder?.announce(http.url);
    const close = () =>
      undo.run().catch((error: unknown) => {
        log.error('The server could not be closed in order.', error);
        throw error;
      });
    return { url: http.url, dataFolder: folder?.path, close };
  } catch (error) {
    await undo.run().catch((second) => throwBoth(error, second));
    throw error;
  }
}

/** What was started, to be ended in the opposite order; a failure in one step does not keep the others from running. */
class UndoList {
  readonly #steps: (() => Promise<void> | void)[] = [];
  #running: Promise<void> | undefined;

  add(step: () => Promise<void> | void): void {
    this.#steps.push(step);
  }

  run(): Promise<void> {
    this.#running ??= this.#run();
    return this.#running;
  }

  async #run(): Promise<void> {
    const failures: unknown[] = [];
    for (const step of this.#steps.reverse()) {
      try {
        await step();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures.length === 1 ? failures[0] : new AggregateError(failures);
  }
}

function hangs(closeMs: number): DatabaseError {
  const reason = `The storage did not close within ${closeMs / 1000} seconds. What was acknowledged is kept; end the process, and look after the disk.`;
  return new DatabaseError('storage_blocked', reason);
}

function throwBoth(first: unknown, second: unknown): never {
  throw new AggregateError([first, second], 'The server could not start, and what had started could not be closed.');
}

function toStderr(entry: string): void {
  process.stderr.write(`${entry}\n`);
}
