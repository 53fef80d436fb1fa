/**
 * Virtual hosts (docs/http/requests.md#virtual-hosts): a host name stands for a path, such as that of a design document's rewrite rules. They are in
 * section `vhosts`, as `host[:port][/path] = /target`.
 */
import type { Settings } from '../../base/system/contract.ts';

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
