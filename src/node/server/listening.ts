/** Where a server accepts requests: on a port, and, if it has readers, on a socket for them. Both follow the present settings. */
import type { IncomingMessage } from 'node:http';
import { DatabaseError } from '../../base/errors/database-error.ts';
import type { ByteBudget } from '../../base/shared/byte-budget.ts';
import type { Handle } from '../../base/shared/message.ts';
import {
  addressListSetting,
  booleanSetting,
  clientAddressOf,
  integerSetting,
  portSetting,
} from '../../base/system/config.ts';
import type { Config, ConfigStore, Log } from '../../base/system/contract.ts';
import { grantHeaders, grantOf, isCorsEnabled } from '../../http/middleware/cross-origin.ts';
import { followVirtualHosts } from '../../http/middleware/gateway.ts';
import { hasAdmin } from '../configuration/admin-guard.ts';
import { AcceptedLinks, type LinkOptions } from '../forwarding/accepted-links.ts';
import type { ForReaders, ReadersStatus } from '../forwarding/for-readers.ts';
import { openOwnerSocket } from '../forwarding/owner-socket.ts';
import type { CompressionRules } from '../http/compression.ts';
import { CODINGS } from '../http/compressors.ts';
import { isLoopback, reachRefusal } from '../http/host-check.ts';
import { type HttpServer, type ListenOptions, listen } from '../http/http-server.ts';
import { createListener } from '../http/listener.ts';
import type { Refusal } from '../http/refusals.ts';
import { followTlsKeys, readTlsKeys, type TlsKeys } from '../http/tls-files.ts';
import type { ServerNetwork } from '../network/server-network.ts';
import { followAccessLog } from '../tracing/access-log.ts';
import { createObserver } from '../tracing/request-observer.ts';

/** Bytes per second. */
const DEFAULT_BODY_RATE = 500;

const DEFAULT_HOST = '127.0.0.1';

/** How much longer than the readers' requests the owner waits for the readers, in milliseconds. */
const READERS_MORE_MS = 2_000;
const READERS_DRAIN_MS = 10_000;

/** What has settings, which may be reopened. */
export interface Configured {
  readonly config: ConfigStore;
}

export interface Listening {
  readonly log: Log;
  /** Takes lines that are not entries of the log: an access log. */
  readonly addEntry: (entry: string, isOfClient: boolean) => void;
  readonly bytesInFlight: ByteBudget;
  readonly network: Pick<ServerNetwork, 'isOwn'> | undefined;
  readonly handle: Handle;
}

export interface PortOptions extends Pick<ListenOptions, 'allowedHosts' | 'tls' | 'halfOpenMs' | 'upgrade'> {
  /** Default: that of the settings. */
  readonly port?: number | undefined;
  /** Processes that share the connections that the settings permit. Default: 1. */
  readonly sharers?: number | undefined;
  /** Default: whether the settings have one. */
  readonly hasAdmin?: (() => boolean) | undefined;
  /** Accepts links of other servers, and answers the requests that come over them. Default: none. */
  readonly links?: ServerLinkOptions | undefined;
}

export interface ServerLinkOptions extends LinkOptions {
  /** The name of the present settings. Default: they have none, and servers that ask for them answer nothing by themselves. */
  readonly settingsVersion?: (() => string) | undefined;
}

export function listenAt(
  service: Configured,
  { port, sharers = 1, hasAdmin: isAdministered = followed(service, followAdmins), links, ...options }: PortOptions,
  parts: Listening,
): Promise<HttpServer> {
  const { log, addEntry, bytesInFlight, network, handle } = parts;
  const { config } = service;
  const virtualHosts = followed(service, followVirtualHosts);
  const headersFor = ({ headers }: IncomingMessage) => sharingHeaders(service.config, headers);
  const observe = createObserver({
    config: () => service.config,
    trusts: (peer, forwarded) => trustsTracesOf(service.config, peer, forwarded),
    hasAccessLog: followAccessLog(() => service.config),
    write: (line) => addEntry(line, false),
  });
  const listener = createListener(
    handle,
    (request, error) => logFailure(log, request, error),
    headersFor,
    network?.isOwn,
    {
      observe,
      leastRate: () => integerSetting(service.config, 'httpd', 'min_body_rate') ?? DEFAULT_BODY_RATE,
      leaseFor: (peer, forwarded) => bytesInFlight.open(clientAddressOf(service.config, peer, forwarded)),
      compression: followed(service, followCompression),
    },
  );
  const upgrade = links && acceptLinks(service, links, isAdministered, parts);
  return listen(listener, bindAddress(config), port ?? portSetting(config), {
    ...options,
    ...(upgrade && { upgrade }),
    hasAdmin: isAdministered,
    isOwnHost: (host) => virtualHosts().isNamed(host),
    headersFor,
    maxConnections: () => shareOf(integerSetting(service.config, 'httpd', 'max_connections'), sharers),
  });
}

function acceptLinks(
  service: Configured,
  { settingsVersion = () => '', ...links }: ServerLinkOptions,
  isAdministered: () => boolean,
  { log, handle }: Listening,
): AcceptedLinks {
  return new AcceptedLinks({
    ...{ ...links, handle, settingsVersion, log },
    config: () => service.config,
    refusal: refusalFor(service.config, isAdministered),
    onFailure: (request, error) => logFailure(log, request, error),
  });
}

/** Why requests of clients are refused that come by another process, as they would be here. What a server itself asks for has no address. */
function refusalFor(config: Config, isAdministered: () => boolean): (peer: string | undefined) => Refusal | undefined {
  const isOpen = !isLoopback(bindAddress(config));
  return (peer) => (isOpen && peer !== undefined ? reachRefusal({ remoteAddress: peer }, isAdministered) : undefined);
}

/** Processes of this machine and trusted proxies. What a proxy that is not trusted passes on is from anybody, on this machine, too. */
function trustsTracesOf(config: Config, peer: string | undefined, forwarded: string | undefined): boolean {
  if (peer === undefined || (isLoopback(peer) && forwarded === undefined)) return true;
  return addressListSetting(config, 'httpd', 'trusted_proxies').includes(peer);
}

function shareOf(connections: number | undefined, sharers: number): number | undefined {
  return connections && Math.ceil(connections / sharers);
}

/** Where the readers of a server send requests, which the server answers instead of listening on a port (docs/node.md#more-than-one-processor). */
export interface ReadersOptions {
  /** Of the socket. */
  readonly path: string;
  readonly secret: string;
  /** Called when the socket takes requests. Resolves with the address at which the readers accept requests, with a slash at the end. */
  readonly onListening: () => Promise<string>;
  /** The processes of this server now. */
  readonly status: () => ReadersStatus;
}

interface ListeningForReaders extends Listening {
  readonly forReaders: ForReaders;
  /** For links of other servers, which readers pass on. Default: none is accepted. */
  readonly links?: LinkOptions | undefined;
}

export async function listenForReaders(
  service: Configured,
  { path, secret, onListening }: ReadersOptions,
  { log, handle, forReaders, links }: ListeningForReaders,
): Promise<HttpServer> {
  const socket = await openOwnerSocket({
    ...{ path, secret, handle, log, links, onReport: forReaders.take },
    settingsVersion: () => forReaders.version,
    config: () => service.config,
    refusal: refusalFor(service.config, followed(service, followAdmins)),
    onFailure: (request, error) => logFailure(log, request, error),
  });
  const close = (longestMs = READERS_DRAIN_MS) => socket.close(longestMs + READERS_MORE_MS);
  try {
    return { url: await onListening(), renewTls: () => undefined, close };
  } catch (error) {
    await close(0);
    throw error;
  }
}

/** Failures of the database itself are already logged there, if they need attention. */
function logFailure(log: Log, request: string, error: unknown): void {
  if (!(error instanceof DatabaseError)) log.error(`${request} failed.`, error);
}

/** Undefined if the settings name no files. Fails like `readTlsKeys`. */
export function tlsKeysOf(config: Config): Promise<TlsKeys | undefined> {
  return readTlsKeys(config.get('ssl', 'cert_file'), config.get('ssl', 'key_file'));
}

/** Returns a function that ends it. */
export function renewTls(http: HttpServer, config: Config, checkMs: number | undefined, log: Log): () => void {
  const [certFile, keyFile] = [config.get('ssl', 'cert_file') ?? '', config.get('ssl', 'key_file') ?? ''];
  return followTlsKeys(certFile, keyFile, {
    checkMs,
    onKeys: (keys) => {
      http.renewTls(keys);
      log.info(`the certificate ${certFile} was read again`);
    },
    onFailure: (error) =>
      log.error(
        "The certificate or its key was changed, but can't be used; the server continues with the old ones.",
        error,
      ),
  });
}

/** Headers that tell a page of another origin that it may read a response which the service did not create. */
export function sharingHeaders(
  config: Config,
  { origin, host }: { readonly origin?: string | undefined; readonly host?: string | undefined },
): Record<string, string> {
  const grant = grantOf(config, origin, host);
  const vary: Record<string, string> = isCorsEnabled(config) ? { vary: 'Origin' } : {};
  return grant === undefined ? vary : { ...vary, ...grantHeaders(grant, ['content-type', 'cache-control', 'server']) };
}

export function bindAddress(config: Config): string {
  return config.get('httpd', 'bind_address') || DEFAULT_HOST;
}

/** What `follow` derives from the present settings, even after they were reopened. Called at each request. */
function followed<T>(service: Configured, follow: (config: ConfigStore) => () => T): () => T {
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

function followCompression(config: ConfigStore): () => CompressionRules {
  const addressOf = (peer: string, forwarded: string | undefined) => clientAddressOf(config, peer, forwarded);
  let rules = { ...readCompression(config), addressOf };
  config.onChange(({ section, key }) => {
    if (section === 'httpd' && key.startsWith('compression')) rules = { ...readCompression(config), addressOf };
  });
  return () => rules;
}

function readCompression(config: Config): CompressionRules {
  const value = config.get('httpd', 'compression');
  const codings = CODINGS.filter((coding) => value === 'on' || value === coding);
  return { codings, forLoopback: booleanSetting(config, 'httpd', 'compression_of_loopback') };
}

function followAdmins(config: ConfigStore): () => boolean {
  let known = hasAdmin(config);
  config.onChange(({ section }) => {
    if (section === 'admins') known = hasAdmin(config);
  });
  return () => known;
}
