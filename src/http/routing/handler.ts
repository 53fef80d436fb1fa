import type { MaybePromise } from '../../shared/maybe-promise.ts';
import type { Answer, Context } from '../request/context.ts';

/** Answers a request, or fails. Middleware takes one and gives one. */
export type Handler = (context: Context) => MaybePromise<Answer>;
