/**
 * The service worker's part: decides which requests are for the database and sends them to the owner of the storage. When no page is open, it
 * owns the storage itself for as long as it has requests.
 */

import { pause } from '../../base/shared/clock.ts';
import { type MaybePromise, orElse, whenReady } from '../../base/shared/maybe-promise.ts';
import type { PlainHeaders, PlainResponse } from '../../base/shared/message.ts';
import type { Instance, OwnerLink } from '../bridge/contract.ts';
import { createInstance, isBelow, isForNetwork } from '../bridge/instance.ts';
import { createLink } from '../bridge/link/owner-link.ts';
import { createSessionRelay, type SharedSession, shareSession } from '../bridge/ownership/shared-session.ts';
import { scriptAddress } from '../bridge/script-address.ts';
import { serviceUnavailable } from '../bridge/service-unavailable.ts';
import {
  type ControlAnswer,
  type ControlMessage,
  downloadName,
  type EventIdsMessage,
  type KeepaliveAnswer,
  type KeepaliveRequest,
  PROTOCOL,
  type ReplicationMessage,
  syncTag,
} from '../bridge/wire.ts';
import { asPortOffer, isWireStream } from '../bridge/wire-codec.ts';
import type {
  CoreScript,
  PageScript,
  PageService,
  ServiceWorkerOptions,
  ServiceWorkerOwner,
  SetteeServiceWorker,
} from './contract.ts';
import { EventIds } from './event-ids.ts';
import { toPlainRequest } from './incoming-request.ts';
import { KeepaliveRequests, wholeBody } from './keepalive-requests.ts';
import { OpenBodies, traitsOf } from './open-bodies.ts';

/** How long open bodies may go on once a new version wants to take over. */
const DRAIN_MS = 3000;

/** A page that is left is often followed by another, which must get the storage at once. */
const SUCCESSOR_MS = 1000;

/** The open bodies of a service worker, which all its bases share: a new version waits for all of them. */
const bodiesOf = new WeakMap<object, OpenBodies>();

/** `self` of a service worker, with the globals that the scripts of the core and of the administration page set. */
export type HostScope = ServiceWorkerGlobalScope & {
  readonly setteeCore?: CoreScript;
  readonly setteeUtils?: PageScript;
};

export class ServiceWorkerHost implements SetteeServiceWorker {
  readonly base: string;
  readonly #scope: HostScope;
  readonly #options: ServiceWorkerOptions;
  readonly #instance: Instance;
  readonly #alive: string;
  readonly #bodies: OpenBodies;
  readonly #eventIds = new EventIds();
  /** Keeps the session's cookies when the last page is gone. */
  readonly #session: SharedSession;
  readonly #keepalive: KeepaliveRequests;
  readonly #page: PageService | undefined;
  #link: OwnerLink | undefined;
  #owner: ServiceWorkerOwner | undefined;
  #replicating: Promise<void> | undefined;

  constructor(scope: HostScope, options: ServiceWorkerOptions) {
    this.#scope = scope;
    this.#bodies = bodiesOf.get(scope) ?? new OpenBodies(traitsOf(scope.navigator));
    bodiesOf.set(scope, this.#bodies);
    this.#options = options;
    this.#instance = createInstance(options.base, scope.location.href);
    this.base = this.#instance.base;
    this.#alive = `${this.base}_settee/alive`;
    this.#page = options.utils ? this.#openPage(options.utils) : undefined;
    scope.addEventListener('message', (event) => this.#hear(event));
    scope.addEventListener('sync', (event: Event) => {
      if (isSync(event) && event.tag === syncTag(this.base)) event.waitUntil(this.#replicate());
    });
    this.#session = shareSession(this.#instance, createSessionRelay());
    this.#keepalive = new KeepaliveRequests(this.base, async (request) =>
      orElse(() => this.#useLink().handle(request), notCarried(request.method)),
    );
  }

  handles(request: Request): boolean {
    return isBelow(this.#instance, request.url) && !isForNetwork(request.url);
  }

  respond(event: FetchEvent): boolean {
    if (!this.handles(event.request)) return isBelow(this.#instance, event.request.url);
    this.#bodies.noteEvent();
    const isPing = event.request.url === this.#alive;
    event.respondWith(
      isPing ? new Response(null, { status: 204 }) : (this.#page?.respond(event) ?? this.#answer(event)),
    );
    return true;
  }

  /** The core is loaded inside the promise: an exception of the listener itself would not make the installation fail. */
  install(event: ExtendableEvent): void {
    event.waitUntil(
      new Promise<void>((resolve) => {
        this.#loadCore();
        resolve();
      }),
    );
  }

  async #answer(event: FetchEvent): Promise<Response> {
    const { request } = event;
    const response = await (isKeepaliveWrite(request)
      ? this.#carryKeepalive(event)
      : this.#carry(request, event.clientId));
    const { status } = response;
    const headers = withDownload(request, response);
    return new Response(this.#bodies.open(event, response), { status, headers: Object.entries(headers) });
  }

  #carry(request: Request, client: string): MaybePromise<PlainResponse> {
    return orElse(() => {
      const link = this.#useLink();
      return whenReady(toPlainRequest(request), (plain) =>
        whenReady(link.handle(this.#eventIds.addTo(client, plain)), (response) =>
          this.#eventIds.follow(client, plain.url, response),
        ),
      );
    }, notCarried(request.method));
  }

  /** Goes on when the page of the request is gone, together with the receiver of the response. */
  #carryKeepalive(event: FetchEvent): Promise<PlainResponse> {
    const { request } = event;
    const response = Promise.resolve(toPlainRequest(request)).then(
      (plain) => this.#keepalive.handle(plain),
      notCarried(request.method),
    );
    event.waitUntil(response);
    return response;
  }

  /** Like `#carryKeepalive`, for a request that came as a message. */
  async #takeKeepalive({ protocol, request }: KeepaliveRequest, port: MessagePort | undefined): Promise<void> {
    const reply = (answer: KeepaliveAnswer) => port?.postMessage(answer);
    reply({ response: undefined });
    const { method, url, headers, body } = request;
    const isOurs = protocol === PROTOCOL && url.startsWith(this.base) && !isWireStream(body);
    const { status, ...answer } = isOurs
      ? await this.#keepalive.handle({ method, url, headers, body })
      : serviceUnavailable('This page and the service worker have different versions; reload the page', method);
    reply({ response: { status, headers: answer.headers, body: await wholeBody(answer.body) } });
  }

  #useLink(): OwnerLink {
    this.#link ??= this.#openLink();
    return this.#link;
  }

  #openLink(): OwnerLink {
    return createLink({
      instance: this.#instance,
      carrier: 'service-worker',
      locks: this.#scope.navigator.locks,
      provideOwner: async () => {
        await this.#ownOwner().takeIfFree();
      },
    });
  }

  #ownOwner(): ServiceWorkerOwner {
    if (this.#owner !== undefined) return this.#owner;
    this.#owner = this.#loadCore().createOwner({ instance: this.#instance, settings: this.#options.settings });
    this.#session.announce();
    return this.#owner;
  }

  /** Continues the replications that a page has left behind, unless another page does. Fails if it must be tried again. */
  #replicate(): Promise<void> {
    this.#replicating ??= pause(SUCCESSOR_MS)
      .then(() => this.#ownOwner().replicate())
      .then((activity) => {
        if (activity === 'failing')
          throw new Error(
            'A replication of Settee failed; the browser starts this background synchronization again later',
          );
      })
      .finally(() => {
        this.#replicating = undefined;
      });
    return this.#replicating;
  }

  /** While this script is evaluated, so that the browser keeps the script of the page with it. */
  #openPage(utils: true | string | URL): PageService {
    const { location } = this.#scope;
    const script = new URL(utils === true ? 'settee-utils/settee-sw-utils.js' : utils, location.href);
    let cause: unknown;
    try {
      if (!this.#scope.setteeUtils) this.#scope.importScripts(scriptAddress(script));
    } catch (error) {
      cause = error;
    }
    const page = this.#scope.setteeUtils?.createPage({ base: this.base, script });
    if (page) return page;
    throw new Error(
      `The administration page is not at ${script}: copy the folder settee/dist/utils there, or leave out the option utils`,
      { cause },
    );
  }

  /** The browser keeps the script that `install` imported together with this one, so that it is available at once and without a network. */
  #loadCore(): CoreScript {
    const { core = 'settee-sw-core.js' } = this.#options;
    if (!this.#scope.setteeCore) this.#scope.importScripts(scriptAddress(new URL(core, this.#scope.location.href)));
    const script = this.#scope.setteeCore;
    if (script?.protocol === PROTOCOL) return script;
    throw new Error(
      `${core} is not of the same version as this service worker; copy both from the same version of settee`,
    );
  }

  /** What continues in the version that takes over needs the knowledge of this one. */
  async #drain(): Promise<void> {
    await this.#bodies.drain(DRAIN_MS);
    const { entries } = this.#eventIds;
    const message: EventIdsMessage = { type: 'SETTEE_EVENT_IDS', base: this.base, entries };
    if (entries.length > 0) this.#scope.registration.waiting?.postMessage(message);
  }

  #hear(event: ExtendableMessageEvent): void {
    this.#bodies.noteEvent();
    const { type, base }: Partial<ControlMessage | EventIdsMessage | KeepaliveRequest | ReplicationMessage> =
      event.data ?? {};
    const [port] = event.ports;
    const offer = asPortOffer(event.data);
    const answer: ControlAnswer = { protocol: PROTOCOL };
    const reply = () => port?.postMessage(answer);
    if (offer?.base === this.base && port !== undefined) this.#link?.usePort(offer, port);
    else if (type === 'SETTEE_CLAIM' && base === this.base) event.waitUntil(this.#scope.clients.claim().then(reply));
    else if (type === 'SETTEE_DRAIN') event.waitUntil(this.#drain().then(reply));
    else if (type === 'SETTEE_LASTING' && base === this.base) event.waitUntil(this.#takeKeepalive(event.data, port));
    else if (type === 'SETTEE_EVENT_IDS' && base === this.base) this.#eventIds.takeOver(event.data.entries);
    else if (type === 'SETTEE_REPLICATION' && base === this.base) event.waitUntil(this.#replicate().catch(() => {}));
    else if (type === 'SKIP_WAITING') event.waitUntil(this.#scope.skipWaiting());
  }
}

/** A write that the page wants to have carried out even if the page is left meanwhile. */
function isKeepaliveWrite({ method, keepalive }: Request): boolean {
  return method !== 'GET' && method !== 'HEAD' && keepalive;
}

function notCarried(method: string): (error: unknown) => PlainResponse {
  return (error) => serviceUnavailable(`The request could not be sent to the database: ${error}`, method);
}

/** https://wicg.github.io/background-sync/spec/ */
function isSync(event: Event): event is ExtendableEvent & { readonly tag: unknown } {
  return 'tag' in event && 'waitUntil' in event;
}

/**
 * Returns the headers of the response, plus one that makes the browser save it (RFC 6266, 4) if the page wants that, under the name from its
 * link (`browser/client/downloads.ts`).
 */
export function withDownload({ mode, url }: Request, { status, headers }: PlainResponse): PlainHeaders {
  const name = mode === 'navigate' && status === 200 ? downloadName(url) : undefined;
  if (name === undefined || (name === '' && headers['content-disposition']?.startsWith('attachment'))) return headers;
  const named = name === '' ? '' : `; filename*=UTF-8''${extendedValue(name)}`;
  return { ...headers, 'content-disposition': `attachment${named}` };
}

/** RFC 8187, 3.2.1. */
function extendedValue(text: string): string {
  return encodeURIComponent(text).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}
