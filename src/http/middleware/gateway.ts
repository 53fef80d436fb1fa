/** What a host that accepts network connections puts in front of the service: virtual hosts, and CORS for pages of other origins. */
import { whenReady } from '../../base/shared/maybe-promise.ts';
import type { Config, ConfigStore } from '../../base/system/contract.ts';
import { originOf } from '../request/address/target.ts';
import { Context, type Handler } from '../request/context.ts';
import { StandingRequest } from '../request/standing-request.ts';
import { ownHost } from '../response/locations.ts';
import { shareAcrossOrigins } from './cors.ts';
import { VirtualHosts } from './virtual-hosts.ts';

export function createGateway(config: ConfigStore, next: Handler): Handler {
  return shareAcrossOrigins(ownHost, serveVirtualHosts(config, next));
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
