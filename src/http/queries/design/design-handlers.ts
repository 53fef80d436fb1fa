/** Answers requests for functions of design documents; loaded together with what runs the functions. */
import type { HandlerPart, PartHandlers } from '../../request/handlers.ts';
import type { DesignService } from './design-service.ts';
import { show, update } from './document-functions.ts';
import type { FunctionFilters } from './filter-functions.ts';
import { list } from './list-functions.ts';
import { answerRewritten } from './rewrites.ts';

export const designHandlers = { answerRewritten, list, show, update } satisfies PartHandlers<DesignService>;

export type DesignPart = HandlerPart<DesignService, keyof typeof designHandlers> & FunctionFilters;
