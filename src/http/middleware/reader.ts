/** The requests of a process that reads databases which another one owns: it answers what it can, and sends that one the rest. */
import { type MaybePromise, orElse, whenReady } from '../../base/shared/maybe-promise.ts';
import type { Handle, PlainRequest, PlainResponse } from '../../base/shared/message.ts';
import type { Registry } from '../../database/registry/contract.ts';
import { originOf } from '../request/address.ts';
import { isStream } from '../request/bodies.ts';
import type { Services } from '../request/context.ts';
import { isAnsweredByReaders } from '../request/read-only-requests.ts';
import { RepeatableStream } from '../request/repeatable-stream.ts';
import { cancelBody, isAnsweredElsewhere, withBody } from './elsewhere.ts';
import { followVirtualHosts } from './gateway.ts';

interface ReaderHost {
  readonly forward: Handle;
  readonly hasPresentSettings?: ((notes: Registry['notes']) => boolean) | undefined;
}

/**
 * Answers what only reads, with every change that was acknowledged before the request came (`Registry.refresh`), and forwards everything else. What
 * turns out to need the owner goes to it, too, with the whole body, whether it was read or not.
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
  const answered = (request: PlainRequest): MaybePromise<PlainResponse> => {
    const repeatable = isStream(request.body) ? new RepeatableStream(request.body) : undefined;
    const asked = repeatable === undefined ? request : withBody(request, repeatable);
    return whenReady(answer(asked), (response) => {
      if (!isAnsweredElsewhere(response)) {
        repeatable?.end();
        return response;
      }
      const again = repeatable === undefined ? request : withBody(request, repeatable.again());
      return whenReady(cancelBody(response), () => forward(again));
    });
  };
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
