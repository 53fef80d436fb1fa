/**
 * The handlers of all that functions of documents are for, of selector queries, and of what few requests ask for: replication,
 * maintenance. They are apart from the others because browsers load them on first use.
 */
import { postBulkGet } from './handlers/bulk-get.ts';
import { copyDocument } from './handlers/copy-document.ts';
import { deleteIndex, getIndexes, postExplain, postFind, postIndex } from './handlers/find.ts';
import { getIcon } from './handlers/icon.ts';
import { list } from './handlers/lists.ts';
import { answerOpenRevisions } from './handlers/open-revisions.ts';
import { postMissingRevs, postPurge, postRevsDiff } from './handlers/replication-helpers.ts';
import { answerRewritten } from './handlers/rewrites.ts';
import { getRevsLimit, getSecurity, putRevsLimit, putSecurity } from './handlers/settings.ts';
import { show } from './handlers/shows.ts';
import { refuseGet, update } from './handlers/updates.ts';
import { postCompact, postEnsureFullCommit } from './handlers/upkeep.ts';
import { getIndexInfo, postCompactViews, postViewCleanup } from './handlers/view-index.ts';
import { getView, postTemporaryView, postView } from './handlers/views.ts';

export const functionHandlers = {
  answerOpenRevisions,
  answerRewritten,
  copyDocument,
  deleteIndex,
  getIcon,
  getIndexInfo,
  getIndexes,
  getRevsLimit,
  getSecurity,
  getView,
  list,
  postBulkGet,
  postCompact,
  postCompactViews,
  postEnsureFullCommit,
  postExplain,
  postFind,
  postIndex,
  postMissingRevs,
  postPurge,
  postRevsDiff,
  postTemporaryView,
  postView,
  postViewCleanup,
  putRevsLimit,
  putSecurity,
  refuseGet,
  show,
  update,
};

export type FunctionHandlers = typeof functionHandlers;
