/** Puts the middleware around the router: the whole HTTP interface as one function. */
import type { Handle } from '../shared/message.ts';
import { refuseCrossSite } from './middleware/cross-site.ts';
import { answerErrors } from './middleware/errors.ts';
import { answerHead } from './middleware/head.ts';
import { releaseBytes } from './middleware/held-bytes.ts';
import { wrapJsonp } from './middleware/jsonp.ts';
import { overrideMethod } from './middleware/method-override.ts';
import { addServerHeaders } from './middleware/server-headers.ts';
import { refuseWhenClosing } from './middleware/shutdown.ts';
import { cancelUnreadBody } from './middleware/unread-body.ts';
import { Context, type Services } from './request/context.ts';
import { Router } from './routing/router.ts';
import { createRoutes, type DeferredParts } from './routing/routes.ts';

/** The outermost comes first. `isClosing` is asked at each request. */
export function createHandle(services: Services, parts: DeferredParts, isClosing: () => boolean): Handle {
  const router = new Router(createRoutes(parts));
  const routed = refuseWhenClosing(isClosing, wrapJsonp(router.dispatch));
  const answering = answerHead(releaseBytes(answerErrors(cancelUnreadBody(refuseCrossSite(routed)))));
  const handler = addServerHeaders(services.clock, overrideMethod(answering));
  return (request) => handler(new Context(request, services));
}
