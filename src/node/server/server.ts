import { DatabaseError } from '../../base/errors/database-error.ts';
import { ByteBudget, MAX_WAIT_MS } from '../../base/shared/byte-budget.ts';
import type { Handle, PlainRequest } from '../../base/shared/message.ts';
import type { ConfigStore, Log } from '../../base/system/contract.ts';
import type { LogLevel } from '../../base/system/log.ts';
import { VERSION } from '../../base/system/version.ts';
import type { SettingsStore } from '../../core/config/config-store.ts';
import { VirtualHosts } from '../../http/middleware/gateway.ts';
import { Seat } from '../cluster/seat.ts';
import { hasAdmin } from '../configuration/admin-guard.ts';
import { givenConfig, openConfiguration } from '../configuration/configuration.ts';
import { describePreset, type PresetName } from '../configuration/presets.ts';
import type { LinkOptions } from '../forwarding/accepted-links.ts';
import { ForReaders } from '../forwarding/for-readers.ts';
import { assertHostName, assertListenAllowed } from '../http/host-check.ts';
import type { HttpServer } from '../http/http-server.ts';
import type { TlsKeys } from '../http/tls-files.ts';
import { ServerNetwork } from '../network/server-network.ts';
import { Cores } from './cores.ts';
import { findHome } from './find-home.ts';
import { collectAfterLargeRequests } from './garbage.ts';
import type { Home, OtherServer } from './home.ts';
import {
  bindAddress,
  listenAt,
  listenForReaders,
  type ReadersOptions,
  renewTls,
  sharingHeaders,
  tlsKeysOf,
} from './listening.ts';
import { OwnedService } from './owned-service.ts';
import { createServerLog, HeldLog } from './server-log.ts';

/**
 * How long the storage may take to close, in milliseconds. It then has at most some megabytes to write for each open
 * database, so what takes longer hangs.
 */
const longestCloseMs = 20_000;

export interface ServerOptions {
  /** Where to listen; only loopback while there are no admins. Default: the setting `httpd/bind_address`. */
  readonly host?: string | undefined;
  /**
   * Host names in requests that the server accepts in addition to `localhost` and loopback addresses, such as that of a reverse
   * proxy on this machine. Requests for any other are refused, against DNS rebinding. Default: none.
   */
  readonly allowedHosts?: readonly string[] | undefined;
  /** 0 takes any free port. Default: the setting `httpd/port`, which is 5984. */
  readonly port?: number | undefined;
  /** Where databases are kept; created if it does not exist. Default `./data`. */
  readonly dataFolder?: string | undefined;
  /** Keep everything in memory instead, until `close`. Default false. */
  readonly memory?: boolean | undefined;
  /** Keep databases and settings in PostgreSQL instead, at this URL (docs/node.md#postgresql). */
  readonly storage?: string | undefined;
  /** Own some of the databases of that storage, beside other servers (docs/node.md#a-cluster). Default: one server owns all, and others stand by. */
  readonly cluster?: boolean | undefined;
  /** How long servers of that storage wait for one that gives no sign of life, in milliseconds, the same for all. Default: 12 seconds; tests set less. */
  readonly storageLeaseMs?: number | undefined;
  /** Default: the setting `log/level`, which is `info`. */
  readonly logLevel?: LogLevel | undefined;
  /** Serve a data folder whose server has had admins even if it has none now. Default false. */
  readonly withoutAdmin?: boolean | undefined;
  /** See `CoreOptions`. */
  readonly replicatesByDocuments?: boolean | undefined;
  /** Files with the certificate and those of its issuers, and with its key, both PEM. Default: the settings in `ssl`; without those, http. */
  readonly tlsCert?: string | undefined;
  readonly tlsKey?: string | undefined;
  /** See `TlsFollower`. */
  readonly tlsCheckMs?: number | undefined;
  /** Settings by section and key; they take precedence over the configuration file. */
  readonly config?: Readonly<Record<string, Readonly<Record<string, string>>>> | undefined;
  /** The configuration file. Default: `settee.ini` in the data folder; none for a server in memory, and a table in a `storage`. */
  readonly configFile?: string | undefined;
  /** Other defaults of settings, for an app (docs/node.md#presets). Default: none. */
  readonly preset?: PresetName | undefined;
  /** Where clients reach this server, for servers that stand by for the same `storage`. Default: where it listens. */
  readonly announce?: string | undefined;
  /** Takes each entry of the log, without a newline at its end. Default: stderr. */
  readonly onLog?: ((entry: string) => void) | undefined;
  /** Takes requests from readers on a socket, and does not listen on a port. Default: none. */
  readonly readers?: ReadersOptions | undefined;
  /** How long the storage may take to close before `close` gives up on it. Default 20 seconds. */
  readonly storageCloseMs?: number | undefined;
}

export interface RunningServer {
  /** With a slash at the end. */
  readonly url: string;
  /** Whether it has an admin now; without one, everyone who reaches it may do everything. */
  readonly hasAdmin: boolean;
  /** The command that sets one. */
  readonly adminCommand: string;
  /** What its preset set, in lines for people; empty without one. */
  readonly presetLines: readonly string[];
  /** The server for which it stands by (docs/node.md#several-servers), and where that one answers; undefined if it serves the databases itself. */
  readonly standsByFor: string | undefined;
  /** Absolute; undefined for a server that has none. */
  readonly dataFolder: string | undefined;
  /** Where it keeps its data, for messages: the data folder, or the URL of the storage without its password; undefined for a server in memory. */
  readonly place: string | undefined;
  /** The service's one entry point, for callers in this process. */
  readonly handle: Handle;
  /**
   * Lets running requests end (10 seconds at most), writes everything that is left to write, and frees the data folder. Rejects
   * with `storage_blocked` if the storage does not finish closing; the folder then stays locked until the process
   * ends, which loses nothing that was acknowledged.
   */
  close(): Promise<void>;
}

/** Fails with `bad_request` for an allowed host that is not a host name, an announced address that is not a URL, or an invalid setting. */
export function assertServerOptions(options: ServerOptions): void {
  for (const name of options.allowedHosts ?? []) assertHostName(name);
  if (options.announce !== undefined && !isWebAddress(options.announce)) {
    const reason = `"${options.announce}" can't be announced: it must be a URL of this server, such as http://db1.example.org:5984`;
    throw new DatabaseError('bad_request', reason);
  }
  givenConfig(options);
}

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/**
 * Serves a data folder, or another storage, over HTTP. While another server owns the storage, it stands by for it. Rejects with `storage_locked` while
 * another process serves the same folder, with
 * `storage_corrupt` if the folder has lost its list of databases, with `storage_blocked` when the port is taken, with
 * `bad_request` if the options are invalid (`assertServerOptions`), if the configuration file can't be read, for a host beyond
 * loopback, and for a folder whose server has had an admin and has none now.
 */
export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
  assertServerOptions(options);
  const undo = new CleanupStack();
  try {
    return await start(options, undo);
  } catch (error) {
    await undo.run().catch((second) => throwBoth(error, second));
    throw error;
  }
}

async function start(options: ServerOptions, undo: CleanupStack): Promise<RunningServer> {
  let service: OwnedService | undefined;
  let ownUrl: string | undefined;
  let config: SettingsStore = givenConfig(options);
  const settings = () => service?.config ?? config;
  const { log, logTail, add: addEntry, close: closeLog } = createServerLog(settings, options.onLog ?? toStderr);
  undo.add(closeLog);
  undo.add(() => (ownUrl === undefined ? undefined : log.info('the server has stopped')));
  const startLog = new HeldLog(log);
  undo.add(() => startLog.release());
  const home = await findHome(options, log, startLog);
  undo.add(() => home.close());
  const configure = () => configureHome(options, home, startLog);
  config = await configure();
  startLog.release();
  assertListenAllowed(bindAddress(config), hasAdmin(config), home.adminCommand);
  const tls = await tlsKeysOf(config);
  undo.add(() => (service?.hangs ? undefined : home.release()));
  undo.add(() => home.guard?.close());
  const network = openNetwork({ settings, url: () => ownUrl, names: options.allowedHosts, undo });
  const readers = new ForReaders(addEntry);
  // It outlives the core, which `_restart` reopens.
  const bytesInFlight = new ByteBudget(0, MAX_WAIT_MS);
  collectAfterLargeRequests(bytesInFlight);
  const headersFor = headersOf(() => running);
  const seat = home.shared && options.cluster === true ? new Seat({ home: home.shared, log, headersFor }) : undefined;
  const cores = new Cores({
    ...{ home, seat, log, logTail, bytesInFlight, readers, options },
    network: network.forReplications,
    ownUrl: () => ownUrl,
    restart: async () => service?.restart(),
  });
  const ownership = { home, ownUrl: () => ownUrl, headersFor };
  const { storageCloseMs: closeMs = longestCloseMs } = options;
  const open = (settings: SettingsStore) => cores.open(settings);
  service = await OwnedService.open({ configure, open, member: cores.member, log, closeMs, ...ownership }, config);
  const running = service;
  undo.add(() => seat?.close());
  undo.add(() => running.close());
  const handle = cores.handleOf((request) => running.handle(request));
  const parts = { log, addEntry, bytesInFlight, network, handle, forReaders: readers };
  const links = await linksOf(seat, () => [options.announce, ownUrl && `${ownUrl}/`]);
  const http = await acceptRequests(running, options, { tls, links }, parts);
  ownUrl = http.url.replace(/\/$/, '');
  undo.add(() => http.close(running.drainMs));
  if (tls !== undefined && !options.readers) undo.add(renewTls(http, config, options.tlsCheckMs, log));
  undo.add(() => home.beginClose());
  undo.add(() => running.beginShutdown());
  home.announce(options.announce ?? http.url);
  undo.add(() => seat?.withdraw());
  undo.add(() => log.info('the server is stopping'));
  log.info(`the server has started: Settee ${VERSION} at ${http.url}`);
  return {
    url: http.url,
    ...{ hasAdmin: hasAdmin(running.config), presetLines: describePreset(options.preset, running.config) },
    ...describeHome(home, seat !== undefined),
    handle,
    close: () => undo.run().catch((error) => logAndThrow(log, error)),
  };
}

async function configureHome(options: ServerOptions, home: Home, startLog: Log): Promise<SettingsStore> {
  const opened = await openConfiguration(options, home.settings, startLog);
  await home.guard?.assertAdmin(opened);
  return opened;
}

function headersOf(service: () => OwnedService) {
  return ({ headers }: PlainRequest) => sharingHeaders(service().config, headers);
}

function describeHome({ adminCommand, dataFolder, place, shared }: Home, isMember: boolean) {
  const standsByFor = shared?.isOwner === false && !isMember ? describeOwner(shared.owner) : undefined;
  return { adminCommand, dataFolder, place, standsByFor };
}

function describeOwner(owner: OtherServer | undefined): string {
  if (owner === undefined) return 'another server';
  return owner.address === undefined ? owner.described : `${owner.described} at ${owner.address}`;
}

async function linksOf(
  seat: Seat | undefined,
  addresses: () => readonly (string | undefined)[],
): Promise<LinkOptions | undefined> {
  if (seat === undefined) return undefined;
  const { key } = await seat.cluster();
  return { key, addresses: () => addresses().filter((address) => address !== undefined) };
}

interface Acceptance {
  readonly tls: TlsKeys | undefined;
  /** For other servers. */
  readonly links: LinkOptions | undefined;
}

function acceptRequests(
  service: OwnedService,
  { readers, allowedHosts }: ServerOptions,
  { tls, links }: Acceptance,
  parts: Parameters<typeof listenForReaders>[2],
): Promise<HttpServer> {
  const settingsVersion = () => parts.forReaders.version;
  return readers === undefined
    ? listenAt(service, { allowedHosts, tls, links: links && { ...links, settingsVersion } }, parts)
    : listenForReaders(service, readers, { ...parts, links });
}

interface NetworkOptions {
  /** The present settings. */
  readonly settings: () => ConfigStore;
  /** Where the server listens. */
  readonly url: () => string | undefined;
  /** Its additional names. */
  readonly names: readonly string[] | undefined;
  readonly undo: CleanupStack;
}

function openNetwork({ settings, url, names = [], undo }: NetworkOptions): ServerNetwork {
  const network = new ServerNetwork({
    ...{ url, names },
    allowedHosts: () => settings().get('replicator', 'allowed_hosts') ?? '',
    isVirtualHost: (host) => new VirtualHosts(settings().section('vhosts')).isNamed(host),
  });
  undo.add(() => network.close());
  return network;
}

/** Things that were started, to be ended in reverse order; a failure in one step does not keep the others from running. */
class CleanupStack {
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

function logAndThrow(log: Log, error: unknown): never {
  log.error('The server could not be closed cleanly.', error);
  throw error;
}

function throwBoth(first: unknown, second: unknown): never {
  throw new AggregateError([first, second], 'The server could not start, and what had started could not be closed.');
}

function toStderr(entry: string): void {
  process.stderr.write(`${entry}\n`);
}
