/** Answers requests for functions of design documents; loaded together with what runs the functions. */
import type { HandlerPart, PartHandlers } from '../../request/handlers.ts';
import type { DesignService } from './design-service.ts';
import type { FunctionFilters } from './filter-functions.ts';
import { list } from './list-functions.ts';
import { answerRewritten } from './rewrites.ts';
import { show } from './show-functions.ts';
import { update } from './update-functions.ts';

export const designHandlers = { answerRewritten, list, show, update } satisfies PartHandlers<DesignService>;

export type DesignPart = HandlerPart<DesignService, keyof typeof designHandlers> & FunctionFilters;
