/** The requests of a server that owns some of the databases which it shares with other servers. */
import { DatabaseError } from '../../base/errors/database-error.ts';
import { type MaybePromise, orElse, whenReady } from '../../base/shared/maybe-promise.ts';
import type { Handle, PlainRequest, PlainResponse } from '../../base/shared/message.ts';
import type { Registry } from '../../database/registry/contract.ts';
import { originOf } from '../request/address.ts';
import { isStream } from '../request/bodies.ts';
import type { Services } from '../request/context.ts';
import {
  isAnsweredByReaders,
  isHealthCheck,
  isOfEachServer,
  isOwnRestart,
  mayShowFormerIndex,
  meantMethod,
  resourceOf,
} from '../request/read-only-requests.ts';
import { RepeatableStream } from '../request/repeatable-stream.ts';
import type { Sharing } from '../request/sharing.ts';
import { cancelBody, isAnsweredElsewhere, withBody } from './elsewhere.ts';
import { followVirtualHosts } from './gateway.ts';

export interface MemberHost extends Pick<Sharing, 'ownerOf'> {
  /** Looks which servers there are now. Resolves when this one has given up what is not its own any more. */
  lookAgain(): Promise<void>;
  /** Whether the settings are the present ones, as the texts with the list of databases say. Default: always. */
  readonly hasPresentSettings?: ((notes: Registry['notes']) => boolean) | undefined;
  /** Resolves when the wanted settings have come, or after some seconds. */
  readonly whenSettings?: ((areWanted: () => boolean) => Promise<void>) | undefined;
}

/** How long a request is sent again to other servers than the one that did not own the database any more, in milliseconds. */
const MAX_MOVE_MS = 10_000;
const RETRY_MS = 50;

/**
 * Answers what this server owns, and what only reads, with every change that was acknowledged before the request came. Sends everything else to its
 * owner. A request that another server has sent here, and that is not for this one, is refused with `not_owner`: then that server looks again.
 */
export function answerAsMember(
  { registry, basePath, config }: Pick<Services, 'registry' | 'basePath' | 'config'>,
  answer: Handle,
  host: MemberHost,
): Handle {
  const virtualHosts = followVirtualHosts(config);
  const placeOf = (request: PlainRequest): Place => {
    const base = `${originOf(request.url) ?? ''}${basePath}/`;
    const { host: name } = request.headers;
    const hosts = virtualHosts();
    const elsewhere = destinationOf(request, basePath);
    if (elsewhere !== undefined) return { database: elsewhere, isReadHere: false };
    const rewritten = hosts.isEmpty || name === undefined ? undefined : hosts.rewrite(name, request.url);
    if (rewritten !== undefined)
      return { database: resourceOf({ ...request, url: rewritten }, '/'), isReadHere: false };
    if (isHealthCheck(request, base)) return { database: undefined, isReadHere: true, isHealthCheck: true };
    if (isOwnRestart(request, base)) return { database: undefined, isReadHere: false, isOnlyHere: true };
    // How far an index is that is not updated says its owner alone, so that servers that are asked in turn agree.
    const isRead = isAnsweredByReaders(request, base) && !mayShowFormerIndex(request);
    const isReadHere = isRead || isOfEachServer(request, base);
    return { database: resourceOf(request, base), isReadHere };
  };
  return (request) => new Exchange({ registry, answer, host }, request, placeOf(request)).run();
}

/** The database into which a document is copied: its owner reads the source beside the source's owner. Undefined if it is the same, or none. */
function destinationOf({ method, headers }: PlainRequest, basePath: string): string | undefined {
  const { destination } = headers;
  if (meantMethod({ method, headers }) !== 'COPY' || destination === undefined) return undefined;
  const origin = originOf(destination);
  return origin === undefined
    ? undefined
    : resourceOf({ method, url: destination, headers: {} }, `${origin}${basePath}/`);
}

interface Place {
  /** Undefined for what the owner of the list does. */
  readonly database: string | undefined;
  readonly isReadHere: boolean;
  /** Waits for no other server, and not for the storage. */
  readonly isHealthCheck?: boolean;
  /** No other server may do it instead. */
  readonly isOnlyHere?: boolean;
}

interface Service {
  readonly registry: Registry;
  readonly answer: Handle;
  readonly host: MemberHost;
}

class Exchange {
  readonly #service: Service;
  #request: PlainRequest;
  readonly #place: Place;
  #hasLooked = false;
  /** When it was first sent to a server that did not own the database. */
  #since: number | undefined;

  constructor(service: Service, request: PlainRequest, place: Place) {
    this.#service = service;
    this.#request = request;
    this.#place = place;
  }

  run(): MaybePromise<PlainResponse> {
    const { host, answer } = this.#service;
    const { database, isReadHere, isHealthCheck, isOnlyHere } = this.#place;
    if (isHealthCheck === true) return answer(this.#request);
    const owner = isOnlyHere === true ? undefined : host.ownerOf(database);
    if (owner !== undefined && !isReadHere) return this.#sendTo(owner);
    let isFresh = false;
    return orElse(
      () =>
        whenReady(this.#service.registry.refresh?.(), () => {
          isFresh = true;
          return this.#answerHere(owner);
        }),
      (failure) => {
        if (isFresh) throw failure;
        if (owner !== undefined) return this.#sendTo(owner);
        // It takes the storage over at the moment, or can't reach it. The server that has sent the request looks again.
        return (this.#request.hops ?? 0) > 0 ? this.#refuse() : unavailable('The storage is not reached.');
      },
    );
  }

  #answerHere(owner: Handle | undefined): MaybePromise<PlainResponse> {
    const { answer, registry, host } = this.#service;
    const isPresent = () => host.hasPresentSettings?.(registry.notes) !== false;
    if (!isPresent()) return owner === undefined ? this.#answerLater(isPresent) : this.#sendTo(owner);
    const { body } = this.#request;
    // What only reads bounds its body.
    const isSentOn = owner !== undefined && this.#place.isReadHere;
    const repeatable = isSentOn && isStream(body) ? new RepeatableStream(body) : undefined;
    const asked = repeatable === undefined ? this.#request : withBody(this.#request, repeatable);
    return whenReady(answer(asked), (response) => {
      if (this.#hasLooked || this.#place.isOnlyHere === true || !isAnsweredElsewhere(response)) {
        repeatable?.end();
        return response;
      }
      if (repeatable !== undefined) this.#request = withBody(this.#request, repeatable.again());
      else if (isStream(body)) return response;
      return this.#elsewhere(response);
    });
  }

  /** Another server changes the settings; they are on their way. */
  async #answerLater(isPresent: () => boolean): Promise<PlainResponse> {
    const { answer, host } = this.#service;
    await host.whenSettings?.(isPresent);
    return isPresent() ? answer(this.#request) : unavailable('The settings of the server are being changed.');
  }

  /** What this server could not answer may have another owner by now. */
  #elsewhere(response: PlainResponse): MaybePromise<PlainResponse> {
    return whenReady(cancelBody(response), async () => {
      const { host } = this.#service;
      if (host.ownerOf(this.#place.database) === undefined) await this.#lookAgain();
      this.#hasLooked = true;
      const owner = host.ownerOf(this.#place.database);
      return owner === undefined ? this.#answerHere(owner) : this.#sendTo(owner);
    });
  }

  async #lookAgain(): Promise<void> {
    this.#hasLooked = true;
    await this.#service.host.lookAgain();
  }

  #sendTo(owner: Handle): MaybePromise<PlainResponse> {
    const { hops = 0 } = this.#request;
    if (hops > 0) return this.#hasLooked ? this.#refuse() : this.#lookAgain().then(() => this.run());
    return whenReady(owner(this.#sent()), (response) => this.#orToNext(response));
  }

  /** The database has moved while the request was on its way. What has not been answered was not processed. */
  async #orToNext(response: PlainResponse): Promise<PlainResponse> {
    if (response.errorCode !== 'not_owner' || isStream(this.#request.body)) return response;
    this.#since ??= performance.now();
    if (performance.now() - this.#since > MAX_MOVE_MS) return response;
    await cancelBody(response);
    await this.#service.host.lookAgain();
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    this.#hasLooked = false;
    return this.run();
  }

  /** Its members, some of which hosts create on demand. */
  #sent(): PlainRequest {
    const { method, url, headers, body, peer, scheme, user, recheckUser, returnsHeld, held, observed } = this.#request;
    const request = this.#request;
    return {
      ...{ method, url, headers, body, peer, scheme, user, recheckUser, held, observed },
      ...(returnsHeld !== undefined && { returnsHeld }),
      get signal() {
        return request.signal ?? new AbortController().signal;
      },
    };
  }

  async #refuse(): Promise<PlainResponse> {
    const { body } = this.#request;
    if (isStream(body)) await body.cancel();
    const { code, reason } = new DatabaseError(
      'not_owner',
      'Another server owns the database, and only that one can do this. Send the request again.',
    );
    return { ...unavailable(reason), errorCode: code };
  }
}

function unavailable(reason: string): PlainResponse {
  return {
    status: 503,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', 'retry-after': '1' },
    body: `${JSON.stringify({ error: 'service_unavailable', reason })}\n`,
  };
}
