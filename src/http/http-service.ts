/** Puts the middleware around the router: the whole HTTP interface as one function. */
import type { Handle } from '../base/shared/message.ts';
import { refuseCrossSite } from './middleware/cross-origin.ts';
import { addServerHeaders, countRequests, refuseWhenClosing } from './middleware/every-request.ts';
import { accountForResponses, cancelUnreadBody, releaseBytes } from './middleware/held-bytes.ts';
import { wrapJsonp } from './middleware/jsonp.ts';
import { answerHead, overrideMethod } from './middleware/methods.ts';
import { Context, type Gateway, type Services } from './request/context.ts';
import { answerErrors } from './response/error-table.ts';
import { Router } from './router.ts';
import { createRoutes, type DeferredParts } from './routes.ts';
import { challengeRefused, identify, renewSession } from './server/accounts/identification.ts';

/** The outermost comes first. `isClosing` is called at each request. `gateway`: what the host puts in front; nothing by default. */
export function createHandle(
  services: Services,
  options: DeferredParts,
  isClosing: () => boolean,
  gateway: Gateway = (_config, next) => next,
): Handle {
  const router = new Router(createRoutes(options), options.accounts);
  const routed = refuseWhenClosing(isClosing, wrapJsonp(identify(services.config, options.accounts, router.dispatch)));
  const guarded = challengeRefused(
    options.accounts,
    answerErrors(accountForResponses(cancelUnreadBody(refuseCrossSite(routed)))),
  );
  const answering = answerHead(releaseBytes(renewSession(guarded)));
  const served = gateway(services.config, overrideMethod(answering));
  const handler = countRequests(addServerHeaders(services.clock, served));
  return (request) => handler(new Context(request, services));
}
