/**
 * What a host that accepts network connections puts in front of the service: CORS for pages of other origins, and virtual hosts
 * (docs/http/requests.md#virtual-hosts): a host name stands for a path, such as that of a design document's rewrite rules. They are
 * in section `vhosts`, as `host[:port][/path] = /target`.
 */

import { whenReady } from '../../base/shared/maybe-promise.ts';
import type { Config, ConfigStore, Settings } from '../../base/system/contract.ts';
import { originOf } from '../request/address.ts';
import { Context, type Handler } from '../request/context.ts';
import { StandingRequest } from '../request/standing-request.ts';
import { ownHost } from '../response/locations.ts';
import { shareAcrossOrigins } from './cross-origin.ts';

export function createGateway(config: ConfigStore, next: Handler): Handler {
  return shareAcrossOrigins(config, ownHost, serveVirtualHosts(config, next));
}

/** Returns a function that returns the virtual hosts currently in effect. */
export function followVirtualHosts(config: ConfigStore): () => VirtualHosts {
  let hosts = new VirtualHosts(config.section('vhosts'));
  config.onChange(({ section }) => {
    if (section === 'vhosts') hosts = new VirtualHosts(config.section('vhosts'));
  });
  return () => hosts;
}

/** Whether the root's resource of that path is hidden at the requested host because a virtual host replaces it. */
export function isHiddenByHost(context: Context, path: string): boolean {
  const { config } = context.services;
  const host = ownHost(context);
  if (host === undefined || isGlobal(config, path)) return false;
  return (new VirtualHosts(config.section('vhosts')).rewrite(host, path) ?? path) !== path;
}

function serveVirtualHosts(config: ConfigStore, next: Handler): Handler {
  const hosts = followVirtualHosts(config);
  return (context) => {
    if (hosts().isEmpty) return next(context);
    const rewritten = rewrite(context, hosts());
    if (rewritten === undefined) return next(context);
    const other = standingFor(context, rewritten);
    return whenReady(next(other), (answer) => {
      context.user = other.user;
      context.acceptsQuery = other.acceptsQuery;
      return answer;
    });
  };
}

/** Returns the address, without its origin, that replaces the request's. */
function rewrite(context: Context, hosts: VirtualHosts): string | undefined {
  const host = ownHost(context);
  if (host === undefined) return undefined;
  const { url } = context.request;
  const address = url.slice(originOf(url)?.length ?? 0);
  const end = address.search(/[?#]/);
  const path = end < 0 ? address : address.slice(0, end);
  if (isGlobal(context.services.config, path)) return undefined;
  const target = hosts.rewrite(host, path);
  return target === undefined ? undefined : `${target}${end < 0 ? '' : address.slice(end)}`;
}

/** Whether the resource is the same at every host. */
function isGlobal(config: Config, path: string): boolean {
  const first = path.split('/').find((segment) => segment !== '');
  const global = config.get('httpd', 'vhost_global_handlers') ?? '';
  return first !== undefined && global.split(',').some((name) => name.trim() === first);
}

function standingFor(context: Context, address: string): Context {
  const { request, services } = context;
  const asked = request.url.slice(originOf(request.url)?.length ?? 0);
  const url = `${originOf(request.url) ?? ''}${services.basePath}${address}`;
  const other = new Context(new StandingRequest(request, { url }), services);
  other.requestedPath = asked;
  other.vhostPath = asked;
  other.sharedWith = context.sharedWith;
  return other;
}

interface VirtualHost {
  /** From the last label to the first: literal, `:name`, or `*` for all remaining labels. */
  readonly labels: readonly string[];
  readonly port: string | undefined;
  /** The leading segments of the path. */
  readonly prefix: readonly string[];
  readonly target: readonly string[];
}

/** The values of the labels and segments that the pattern leaves open. */
type Bindings = ReadonlyMap<string, string>;

const ANY = '*';

export class VirtualHosts {
  readonly #hosts: readonly VirtualHost[];

  /** The settings of the section. */
  constructor(section: Settings[string] = {}) {
    const hosts = Object.entries(section).flatMap(([pattern, target]) => parse(pattern, target) ?? []);
    this.#hosts = hosts.sort((left, right) => openness(left) - openness(right));
  }

  get isEmpty(): boolean {
    return this.#hosts.length === 0;
  }

  /** Whether one of them is for that host, with or without a port. A pattern for every host does not count. */
  isNamed(host: string): boolean {
    const { labels, port } = splitHost(host);
    return this.#hosts.some(
      (one) => one.labels.some(isLiteral) && fitsPort(one, port) && bindLabels(one.labels, labels) !== undefined,
    );
  }

  /** Returns the path that replaces `path` (percent-encoded, without a query) at that host; undefined if no virtual host matches. */
  rewrite(host: string, path: string): string | undefined {
    const { labels, port } = splitHost(host);
    const segments = path.split('/').filter((segment) => segment !== '');
    for (const one of this.#hosts) {
      if (!fitsPort(one, port)) continue;
      const bound = bindLabels(one.labels, labels);
      if (bound === undefined) continue;
      const rest = bindPrefix(one.prefix, segments);
      if (rest !== undefined) return join(one.target, new Map([...bound, ...rest.bound]), rest.segments);
    }
    return undefined;
  }
}

/** Returns undefined for an entry that is no virtual host: a target must be a path. */
function parse(pattern: string, target: string): VirtualHost | undefined {
  const slash = pattern.indexOf('/');
  const host = slash < 0 ? pattern : pattern.slice(0, slash);
  const prefix = slash < 0 ? '' : pattern.slice(slash);
  if (host === '' || !target.startsWith('/')) return undefined;
  return { ...splitHost(host), prefix: segmentsOf(prefix), target: segmentsOf(target) };
}

/** `:name` is a label, `:5984` a port. */
function splitHost(host: string): Pick<VirtualHost, 'labels' | 'port'> {
  const port = /:(\d+)$/.exec(host)?.[1];
  const name = port === undefined ? host : host.slice(0, -port.length - 1);
  return { labels: name.toLowerCase().replace(/\.$/, '').split('.').reverse(), port };
}

function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '');
}

function isLiteral(part: string): boolean {
  return part !== ANY && !part.startsWith(':');
}

function fitsPort({ port }: VirtualHost, asked: string | undefined): boolean {
  return port === undefined || port === asked;
}

/** Sorts more specific patterns first: by their labels, then by their path. */
function openness({ labels, prefix, port }: VirtualHost): number {
  const open = labels.reduce((sum, label) => sum + (label === ANY ? 10_000 : isLiteral(label) ? -1 : 100), 0);
  return open * 100 - prefix.length * 10 - (port === undefined ? 0 : 1);
}

function bindLabels(pattern: readonly string[], labels: readonly string[]): Bindings | undefined {
  const bound = new Map<string, string>();
  for (const [index, part] of pattern.entries()) {
    const label = labels[index];
    if (label === undefined) return undefined;
    if (part === ANY) return bound.set(ANY, labels.slice(index).reverse().join('.'));
    if (!isLiteral(part)) bound.set(part, label);
    else if (part !== label) return undefined;
  }
  return pattern.length === labels.length ? bound : undefined;
}

function bindPrefix(
  prefix: readonly string[],
  segments: readonly string[],
): { readonly bound: Bindings; readonly segments: readonly string[] } | undefined {
  const bound = new Map<string, string>();
  for (const [index, part] of prefix.entries()) {
    const segment = segments[index];
    if (segment === undefined) return undefined;
    if (part === ANY) return { bound: bound.set(ANY, segment), segments: segments.slice(index) };
    if (!isLiteral(part)) bound.set(part, segment);
    else if (part !== segment) return undefined;
  }
  return { bound, segments: segments.slice(prefix.length) };
}

function join(target: readonly string[], bound: Bindings, rest: readonly string[]): string {
  const filled = target.map((part) => bound.get(part) ?? part);
  return `/${[...filled, ...rest].join('/')}`;
}
