/** Answers requests for views; loaded together with them. */
import type { ViewIndexes } from '../../../queries/views/contract.ts';
import type { HandlerPart, PartHandlers } from '../../request/handlers.ts';
import { getIndexInfo, postCompactViews, postViewCleanup } from './index-handlers.ts';
import { getView, postTemporaryView, postView } from './query-handlers.ts';

export const viewHandlers = {
  getIndexInfo,
  getView,
  postCompactViews,
  postTemporaryView,
  postView,
  postViewCleanup,
} satisfies PartHandlers<ViewIndexes>;

export type ViewPart = HandlerPart<ViewIndexes, keyof typeof viewHandlers>;
