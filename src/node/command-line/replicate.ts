/** The command `settee replicate`: copies one database to another, here or elsewhere, with the replicator of the service. */
import { DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import { isObject, type JsonObject, ownMember } from '../../base/json/objects.ts';
import { systemClock, systemRandom } from '../../base/shared/clock.ts';
import { atOnce } from '../../base/shared/turn.ts';
import type { ReplicationTask } from '../../base/system/active-tasks.ts';
import type { Log } from '../../base/system/contract.ts';
import { escapeControls } from '../../base/system/log.ts';
import { createConfig } from '../../core/config/config-store.ts';
import type { Replication, ReplicatorHost } from '../../replication/contract.ts';
import { describeEndpoint } from '../../replication/jobs/endpoint.ts';
import type { Job, JobOrder } from '../../replication/jobs/job.ts';
import type { RefusedLedger } from '../../replication/jobs/refused-documents.ts';
import { parseReplication } from '../../replication/jobs/replication-request.ts';
import { Replicator } from '../../replication/jobs/replicator.ts';
import { readReplicatorSettings } from '../../replication/jobs/replicator-settings.ts';
import { PeerMemory } from '../../replication/peer-memory.ts';
import { readFilter, runReplication } from '../../replication/run/replication-run.ts';
import type { StoragePlace } from '../data-folder/maintained-storage.ts';
import { GuardedNetwork } from '../network/guarded-network.ts';
import { ProxiedFetches } from '../network/proxied-fetch.ts';
import { type RunningServer, startServer } from '../server/server.ts';
import { onEndSignals, type SignalHost } from '../terminal/end-signals.ts';
import { createProgress, formatBytes, type MessageStream, type Progress } from '../terminal/progress.ts';
import { UsageError } from '../terminal/usage-error.ts';

/** Databases that are named without a URL are in the folder, or in the storage. */
export interface ReplicateOptions extends StoragePlace {
  /** In the form that `POST /_replicate` takes. */
  readonly members: JsonObject;
  readonly retryRefused: boolean;
}

export interface ReplicateHost extends SignalHost {
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: MessageStream;
  exit(code: number): void;
}

const ADMIN = { name: null, roles: ['_admin'] };
/** Part of the ids of replications between two other services, so that the same command continues from its checkpoint wherever it runs. */
const NO_SERVICE = 'settee replicate';
/** Half of it is for the responses of the two databases. */
const MEMORY_BYTES = 536_870_912;
const A_DAY_MS = 86_400_000;
/** Refusals that are named; all are counted. */
const MAX_REFUSED = '10000';

/**
 * Copies once, or until a signal. Resolves to true if everything was copied; refused documents are named on stderr.
 *
 * A first signal ends it after a checkpoint, a second one at once: the same command continues from there. Fails with a `UsageError` if
 * the members are invalid, and with the replication's error.
 */
export async function replicate(options: ReplicateOptions, host: ReplicateHost): Promise<boolean> {
  const config = createConfig({ replicator: { max_refused: MAX_REFUSED } });
  const settings = () => readReplicatorSettings(config);
  const replication = parse(options.members, settings().defaults);
  const proxies = new ProxiedFetches();
  const guard = guardOfRedirections(proxies);
  const isLocal = [replication.source, replication.target].some(({ kind }) => kind === 'local');
  const server = isLocal ? await openPlace(options) : undefined;
  const progress = new ReplicationProgress(host.stderr);
  const replicator = new Replicator({
    run: runReplication,
    readFilter,
    host: {
      handle: server?.handle ?? (() => Promise.reject(new Error('no database of this process was named'))),
      fetch: (...request) => fetch(...request),
      fetchThrough: proxies.through,
      guard,
      clock: systemClock,
      random: systemRandom,
      log: sayRetries(host),
      memory: new PeerMemory(() => MEMORY_BYTES),
      basePath: '',
      serverUuid: server === undefined ? NO_SERVICE : await uuidOf(server),
    } satisfies ReplicatorHost,
    settings,
    tasks: progress,
    ownBase: () => undefined,
  });
  try {
    return await run({ replicator, replication, progress, retryRefused: options.retryRefused }, host);
  } finally {
    progress.end();
    await replicator.close();
    await Promise.all([guard.close(), proxies.close()]);
    await server?.close();
  }
}

/** Peers may only redirect to public addresses: only the user of the command may name others. */
function guardOfRedirections(proxies: ProxiedFetches): GuardedNetwork {
  return new GuardedNetwork({ allowedHosts: () => '', proxies, own: { isOwn: () => Promise.resolve(false) } });
}

/** Log entries for users who look for a cause: above all that a request failed, and when it is retried. */
function sayRetries({ stderr }: ReplicateHost): Log {
  const say = (message: string) => void stderr.write(`${escapeControls(message)}\n`);
  return { error: say, info: () => undefined, debug: say };
}

function parse(members: JsonObject, defaults: ReturnType<typeof readReplicatorSettings>['defaults']): Replication {
  try {
    const request = parseReplication(members, {
      ...{ user: ADMIN, asker: { isAdmin: true }, ownBases: [], defaults },
      ...{ noNetwork: undefined, noProxy: undefined },
    });
    return atOnce(request);
  } catch (error) {
    if (isDatabaseError(error, 'bad_request')) throw new UsageError(error.reason, 'replicate');
    throw error;
  }
}

/** Replications that its own documents ask for are left to the server that usually runs there. */
async function openPlace({ dataFolder, storage }: StoragePlace): Promise<RunningServer> {
  try {
    return await startServer({
      ...{ dataFolder, storage },
      host: '127.0.0.1',
      port: 0,
      logLevel: 'error',
      replicatesByDocuments: false,
    });
  } catch (error) {
    if (!isDatabaseError(error, 'storage_locked')) throw error;
    throw new DatabaseError('storage_locked', `${error.reason} Or name its databases by their URLs.`, { cause: error });
  }
}

async function uuidOf({ handle }: RunningServer): Promise<string> {
  const { body } = await handle({ method: 'GET', url: '/', headers: {}, body: null, user: ADMIN });
  const welcome: unknown = typeof body === 'string' ? JSON.parse(body) : undefined;
  const uuid = isObject(welcome) ? ownMember(welcome, 'uuid') : undefined;
  return typeof uuid === 'string' ? uuid : NO_SERVICE;
}

interface Work {
  readonly replicator: Replicator;
  readonly replication: Replication;
  readonly progress: ReplicationProgress;
  readonly retryRefused: boolean;
}

async function run({ replicator, replication, progress, retryRefused }: Work, host: ReplicateHost): Promise<boolean> {
  let isSignalled = false;
  let end: () => void = () => undefined;
  const signalled = new Promise<void>((resolve) => {
    end = resolve;
  });
  const stop = onEndSignals(
    host,
    () => {
      isSignalled = true;
      end();
    },
    () => host.exit(1),
  );
  // Between two attempts nothing else keeps the process from ending.
  const alive = setInterval(() => undefined, A_DAY_MS);
  try {
    const id = await replicator.idOf(replication);
    const { continuous } = replication;
    const order: JobOrder = { id, replication, owner: ADMIN, isKept: continuous, listener: { failed: report(host) } };
    const job = retryRefused ? await replicator.retryRefused(order) : replicator.jobs.add(order);
    const result = job.result({ lasting: true });
    await Promise.race([result, signalled]);
    if (isSignalled) await replicator.jobs.remove(job);
    progress.end();
    return conclude(job, { progress, isSignalled }, host);
  } finally {
    clearInterval(alive);
    stop();
  }
}

/** A continuous replication is retried, which takes its time: the user should know. */
function report({ stderr }: ReplicateHost) {
  return ({ lastFailure }: Job, _failure: unknown, retryMs: number | undefined): void => {
    if (retryMs === undefined) return;
    stderr.write(`${escapeControls(lastFailure ?? '')}; tried again in ${Math.ceil(retryMs / 1000)} s\n`);
  };
}

interface Ending {
  readonly progress: ReplicationProgress;
  readonly isSignalled: boolean;
}

function conclude(
  { order, ledger }: Job,
  { progress, isSignalled }: Ending,
  { stdout, stderr }: ReplicateHost,
): boolean {
  const { source, target, continuous } = order.replication;
  nameRefused(ledger, stderr);
  const ends = `${describeEndpoint(source)} to ${describeEndpoint(target)}`;
  const bytes = formatBytes(progress.bytesWritten);
  stdout.write(`${progress.written} written, ${ledger.count} refused, ${bytes} (${ends})\n`);
  const isEarly = isSignalled && !continuous;
  if (isEarly)
    stderr.write('The replication was stopped before everything was copied. Run the same command again to continue.\n');
  return !isEarly && ledger.count === 0;
}

function nameRefused(ledger: RefusedLedger, stderr: MessageStream): void {
  const named = ledger.list();
  for (const { id, rev, error, reason } of named) {
    stderr.write(`${escapeControls(`${id} ${rev}: ${error}, ${reason}`)}\n`);
  }
  const rest = ledger.count - named.length;
  if (rest > 0) stderr.write(`and ${rest} more\n`);
}

type Figures = Parameters<ReplicationTask['update']>[0];

/** Shows the progress of a replication, as the service reports it for its tasks. */
export class ReplicationProgress {
  readonly #stream: MessageStream;
  #progress: Progress | undefined;
  /** The number of the source's changes to process, as far as known. */
  #total = 0;
  /** For runs before this one: each attempt counts from zero. */
  #before = { written: 0, bytes: 0 };
  #figures: Figures | undefined;

  constructor(stream: MessageStream) {
    this.#stream = stream;
  }

  get written(): number {
    return this.#before.written + (this.#figures?.docsWritten ?? 0);
  }

  get bytesWritten(): number {
    return this.#before.bytes + (this.#figures?.bytesWritten ?? 0);
  }

  /** The service calls it for each attempt. */
  readonly startReplication = (): ReplicationTask => {
    this.#before = { written: this.written, bytes: this.bytesWritten };
    this.#figures = undefined;
    return {
      update: (figures, refused) => {
        this.#figures = figures;
        this.#show(figures, refused.length);
      },
      pause: () => undefined,
      end: () => undefined,
    };
  };

  #show({ pending }: Figures, refused: number): void {
    this.#total = Math.max(this.#total, pending ?? 0);
    // A bar needs to know the total.
    if (this.#progress === undefined && pending === undefined) return;
    this.#progress ??= createProgress(this.#stream, this.#total, { handlesSignals: true });
    const parts = [`${this.written} written, ${formatBytes(this.bytesWritten)}`];
    if (refused > 0) parts.push(`${refused} refused`);
    if (pending !== undefined) parts.push(`${pending} pending`);
    this.#progress.update(this.#total - (pending ?? this.#total), parts.join(', '), this.#total);
  }

  end(): void {
    this.#progress?.end();
    this.#progress = undefined;
  }
}
