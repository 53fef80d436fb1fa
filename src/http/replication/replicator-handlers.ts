/** Answers requests for replications; loaded together with the replicator. */
import type { HandlerPart, PartHandlers } from '../request/handlers.ts';
import { postReplicate } from './replicate.ts';
import type { ReplicatorService } from './replicator-service.ts';
import { getScheduler } from './scheduler.ts';

export const replicatorHandlers = { postReplicate, getScheduler } satisfies PartHandlers<ReplicatorService>;

export type ReplicatorPart = HandlerPart<ReplicatorService, keyof typeof replicatorHandlers>;
