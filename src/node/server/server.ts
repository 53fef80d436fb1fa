import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { DatabaseError } from '../../base/errors/database-error.ts';
import { ByteBudget, LONGEST_WAIT_MS } from '../../base/shared/byte-budget.ts';
import { systemClock, systemRandom } from '../../base/shared/clock.ts';
import type { Handle } from '../../base/shared/message.ts';
import { clientAddressOf, integerSetting, portSetting, sandboxMemoryBytes } from '../../base/system/config.ts';
import type { Config, ConfigStore, Log } from '../../base/system/contract.ts';
import type { LogLevel } from '../../base/system/log.ts';
import { VERSION } from '../../base/system/version.ts';
import { createConfig, type SettingsStore } from '../../core/config/config-store.ts';
import { type Core, createCore } from '../../core/core.ts';
import { deferredAtHand } from '../../core/deferred/deferred-code.ts';
import { grantHeaders, grantOf, isCorsEnabled } from '../../http/middleware/cors.ts';
import { createGateway, followVirtualHosts } from '../../http/middleware/gateway.ts';
import { VirtualHosts } from '../../http/middleware/virtual-hosts.ts';
import { createQuickJsSandbox } from '../../queries/sandbox/programs/quickjs-sandbox.ts';
import { MemoryMedium } from '../../storage/memory/memory-medium.ts';
import { createMemoryPageStore } from '../../storage/memory/memory-page-store.ts';
import { CONFIG_FILE } from '../config-file/ini-file.ts';
import { holdsDatabases, openDataFolder, openStorage } from '../data-folder/data-folder.ts';
import { connectionsOfReplications } from '../http/descriptor-share.ts';
import { FairWork } from '../http/fair-work.ts';
import { assertHostName } from '../http/host-check.ts';
import { type HttpServer, type ListenOptions, listen } from '../http/http-server.ts';
import { assertListenAllowed } from '../http/listen-rights.ts';
import { createListener } from '../http/listener.ts';
import { followTlsKeys, readTlsKeys } from '../http/tls-files.ts';
import { ServerNetwork } from '../network/server-network.ts';
import { adminCommand } from './admin-advice.ts';
import { AdminGuard, hasAdmin } from './admin-guard.ts';
import { CleanupStack } from './cleanup-stack.ts';
import { givenSettings, openConfiguration, settingsStorage } from './configuration.ts';
import { gzip } from './gzip.ts';
import { HeldLog } from './held-log.ts';
import { findMd5 } from './md5.ts';
import { BuiltPages } from './page-files.ts';
import { readQuickJsWasm } from './quickjs-wasm.ts';
import { RestartableCore } from './restartable-core.ts';
import { createSandboxWorkers } from './sandbox-workers.ts';
import { createServerLog } from './server-log.ts';

/**
 * How long the storage may take to close, in milliseconds. It then has at most some megabytes to write for each open
 * database, so what takes longer hangs.
 */
const longestCloseMs = 20_000;

/** Bytes per second. */
const DEFAULT_BODY_RATE = 500;
/** Responses whose first chunk is being produced: each may have read a quarter of a megabyte of documents for it. */
const MOST_BEGINNINGS = 64;

const DEFAULT_HOST = '127.0.0.1';

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
  /** The configuration file. Default: `settee.ini` in the data folder; none for a server in memory. */
  readonly configFile?: string | undefined;
  /** Takes each entry of the log, without a newline at its end. Default: stderr. */
  readonly onLog?: ((entry: string) => void) | undefined;
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
  /** Absolute; undefined for a server in memory. */
  readonly dataFolder: string | undefined;
  /** The service's one entry point, for callers in this process. */
  readonly handle: Handle;
  /**
   * Lets running requests end (10 seconds at most), writes everything that is left to write, and frees the data folder. Rejects
   * with `storage_blocked` if the storage does not finish closing; the folder then stays locked until the process
   * ends, which loses nothing that was acknowledged.
   */
  close(): Promise<void>;
}

/** Fails with `bad_request` for an allowed host that is not a host name, or an invalid setting. */
export function assertServerOptions(options: ServerOptions): void {
  for (const name of options.allowedHosts ?? []) assertHostName(name);
  createConfig(givenSettings(options));
}

/**
 * Serves a data folder over HTTP. Rejects with `storage_locked` while another process serves the same folder, with
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
  const { memory = false, dataFolder = './data', withoutAdmin = false, storageCloseMs = longestCloseMs } = options;
  let service: RestartableCore | undefined;
  let ownUrl: string | undefined;
  let config: SettingsStore = createConfig(givenSettings(options));
  const settings = () => service?.config ?? config;
  const { log, logTail, close: closeLog } = createServerLog(settings, options.onLog ?? toStderr);
  undo.add(closeLog);
  undo.add(() => (ownUrl === undefined ? undefined : log.info('the server has stopped')));
  const configFile = options.configFile ?? (memory ? undefined : join(dataFolder, CONFIG_FILE));
  const startLog = new HeldLog(log);
  undo.add(() => startLog.release());
  const kept = settingsStorage(configFile, startLog);
  const guard = memory ? undefined : new AdminGuard({ dataFolder, configFile: configFile ?? '', withoutAdmin, log });
  const configure = async () => {
    const opened = await openConfiguration(givenSettings(options), kept, startLog);
    await guard?.assertAdmin(opened);
    return opened;
  };
  config = await configure();
  startLog.release();
  assertListenAllowed(bindAddress(config), hasAdmin(config), adminCommand(configFile, memory ? undefined : dataFolder));
  const tls = await readTlsKeys(config.get('ssl', 'cert_file'), config.get('ssl', 'key_file'));
  const folder = memory ? undefined : await openDataFolder(dataFolder);
  if (folder) {
    undo.add(() => (service?.hangs ? undefined : folder.release()));
    undo.add(() => guard?.close());
    if (await holdsDatabases(folder.databases)) await guard?.assertSettings(folder.databases, config);
  }
  const network = openNetwork({ settings, url: () => ownUrl, names: options.allowedHosts, undo });
  // They outlive the core, which `_restart` reopens.
  const [medium, bytesInFlight] = [new MemoryMedium(), new ByteBudget(0, LONGEST_WAIT_MS)];
  const openCore = async (settings: SettingsStore): Promise<Core> => {
    await guard?.follow(settings);
    return createCore({
      ...platform(settings, log),
      storage: folder ? openStorage(folder.databases) : createMemoryPageStore({ crc32, medium }),
      config: settings,
      log,
      logTail,
      network: { ...network.forReplications, mostConnections: connectionsOfReplications() },
      ownBase: () => ownUrl,
      replicatesByDocuments: options.replicatesByDocuments,
      restart: async () => service?.restart(),
      gateway: createGateway,
      bytesInFlight,
    });
  };
  service = await RestartableCore.open({ configure, open: openCore, log, closeMs: storageCloseMs }, config);
  const running = service;
  undo.add(() => running.close());
  const http = await listenAt(running, { allowedHosts: options.allowedHosts, tls }, { log, bytesInFlight, network });
  ownUrl = http.url.replace(/\/$/, '');
  undo.add(() => http.close());
  if (tls !== undefined) undo.add(renewTls(http, config, options.tlsCheckMs, log));
  undo.add(() => running.beginShutdown());
  folder?.announce(http.url);
  undo.add(() => log.info('the server stops'));
  log.info(`the server has started: Settee ${VERSION} at ${http.url}`);
  return {
    url: http.url,
    hasAdmin: hasAdmin(running.config),
    adminCommand: adminCommand(configFile, folder?.path),
    dataFolder: folder?.path,
    handle: (request) => running.handle(request),
    close: () => undo.run().catch((error) => logAndThrow(log, error)),
  };
}

/** Returns a function that ends it. */
function renewTls(http: HttpServer, config: Config, checkMs: number | undefined, log: Log): () => void {
  const [certFile, keyFile] = [config.get('ssl', 'cert_file') ?? '', config.get('ssl', 'key_file') ?? ''];
  return followTlsKeys(certFile, keyFile, {
    checkMs,
    onKeys: (keys) => {
      http.renewTls(keys);
      log.info(`the certificate ${certFile} was read again`);
    },
    onFailure: (error) => log.error('The certificate and its key were changed; the old ones are used on.', error),
  });
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

/** What Node provides for a core. */
function platform(config: Config, log: Log) {
  const memoryBytes = sandboxMemoryBytes(config);
  const workers = createSandboxWorkers(config, log);
  return {
    clock: systemClock,
    random: systemRandom,
    // `icu` is missing if Node was built without it.
    engine: `node ${process.versions.v8}/${process.versions['icu'] ?? 'none'}`,
    md5: findMd5(),
    gzip,
    pages: new BuiltPages(),
    beginnings: new FairWork(MOST_BEGINNINGS),
    deferred: deferredAtHand(createQuickJsSandbox({ loadWasm: readQuickJsWasm, workers, memoryBytes })),
  };
}

function listenAt(
  service: RestartableCore,
  options: Pick<ListenOptions, 'allowedHosts' | 'tls'>,
  {
    log,
    bytesInFlight,
    network,
  }: { readonly log: Log; readonly bytesInFlight: ByteBudget; readonly network: ServerNetwork },
): Promise<HttpServer> {
  const { config } = service;
  const virtualHosts = followed(service, followVirtualHosts);
  const headersFor = ({ headers }: IncomingMessage) => sharingHeaders(service.config, headers);
  const listener = createListener(
    (request) => service.handle(request),
    (request, error) => {
      // Failures of the database itself are already logged there, if they need attention.
      if (!(error instanceof DatabaseError)) log.error(`${request} failed.`, error);
    },
    headersFor,
    network.isOwn,
    {
      leastRate: () => integerSetting(service.config, 'httpd', 'min_body_rate') ?? DEFAULT_BODY_RATE,
      leaseFor: (peer, forwarded) => bytesInFlight.open(clientAddressOf(service.config, peer, forwarded)),
    },
  );
  return listen(listener, bindAddress(config), portSetting(config), {
    ...options,
    hasAdmin: followed(service, followAdmins),
    isOwnHost: (host) => virtualHosts().isNamed(host),
    headersFor,
    maxConnections: () => integerSetting(service.config, 'httpd', 'max_connections'),
  });
}

/** Headers that tell a page of another origin that it may read a response which the service did not create. */
function sharingHeaders(config: Config, { origin, host }: IncomingHttpHeaders): Record<string, string> {
  const grant = grantOf(config, origin, host);
  const vary: Record<string, string> = isCorsEnabled(config) ? { vary: 'Origin' } : {};
  return grant === undefined ? vary : { ...vary, ...grantHeaders(grant, ['content-type', 'cache-control', 'server']) };
}

function bindAddress(config: Config): string {
  return config.get('httpd', 'bind_address') || DEFAULT_HOST;
}

/** What `follow` derives from the present settings, even after they were reopened. Called at each request. */
function followed<T>(service: RestartableCore, follow: (config: ConfigStore) => () => T): () => T {
  let { config } = service;
  let read = follow(config);
  return () => {
    if (service.config !== config) {
      config = service.config;
      read = follow(config);
    }
    return read();
  };
}

function followAdmins(config: ConfigStore): () => boolean {
  let known = hasAdmin(config);
  config.onChange(({ section }) => {
    if (section === 'admins') known = hasAdmin(config);
  });
  return () => known;
}

function logAndThrow(log: Log, error: unknown): never {
  log.error('The server could not be closed in order.', error);
  throw error;
}

function throwBoth(first: unknown, second: unknown): never {
  throw new AggregateError([first, second], 'The server could not start, and what had started could not be closed.');
}

function toStderr(entry: string): void {
  process.stderr.write(`${entry}\n`);
}
