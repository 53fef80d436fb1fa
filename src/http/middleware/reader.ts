/** The requests of a process that reads databases which another one owns: it answers what it can, and sends that one the rest. */
import { type MaybePromise, orElse, whenReady } from '../../base/shared/maybe-promise.ts';
import type { Handle, PlainRequest, PlainResponse } from '../../base/shared/message.ts';
import type { Registry } from '../../database/registry/contract.ts';
import { originOf } from '../request/address.ts';
import { isStream } from '../request/bodies.ts';
import type { Services } from '../request/context.ts';
import { isAnsweredByReaders } from '../request/read-only-requests.ts';
import { cancelBody, MAY_BE_ANSWERED_ELSEWHERE } from './elsewhere.ts';
import { followVirtualHosts } from './gateway.ts';

interface ReaderHost {
  readonly forward: Handle;
  readonly hasPresentSettings?: ((notes: Registry['notes']) => boolean) | undefined;
}

/**
 * Answers what only reads, with every change that was acknowledged before the request came (`Registry.refresh`), and forwards everything else. What
 * turns out to need the owner goes to it, too, unless the request's body was a stream, which is read only once.
 */
export function answerAsReader(
  { registry, basePath, config }: Pick<Services, 'registry' | 'basePath' | 'config'>,
  answer: Handle,
  { forward, hasPresentSettings = () => true }: ReaderHost,
): Handle {
  const virtualHosts = followVirtualHosts(config);
  const isOwn = (request: PlainRequest): boolean => {
    if (!isAnsweredByReaders(request, `${originOf(request.url) ?? ''}${basePath}/`)) return false;
    const { host } = request.headers;
    const hosts = virtualHosts();
    return hosts.isEmpty || host === undefined || hosts.rewrite(host, request.url) === undefined;
  };
  const answered = (request: PlainRequest): MaybePromise<PlainResponse> =>
    whenReady(answer(request), (response) => {
      const needsOwner = response.errorCode !== undefined && MAY_BE_ANSWERED_ELSEWHERE.has(response.errorCode);
      if (!needsOwner || isStream(request.body)) return response;
      return whenReady(cancelBody(response), () => forward(request));
    });
  return (request) => {
    if (!isOwn(request)) return forward(request);
    let isFresh = false;
    return orElse(
      () =>
        whenReady(registry.refresh?.(), () => {
          isFresh = true;
          return hasPresentSettings(registry.notes) ? answered(request) : forward(request);
        }),
      (failure) => {
        if (isFresh) throw failure;
        return forward(request);
      },
    );
  };
}
