/** Answers administration requests; loaded on first use, since few clients ever send them. */
import type { Answer, Context } from '../../request/context.ts';
import type { HandlerPart, PartHandlers } from '../../request/handlers.ts';
import type { AdministrationService } from './administration-service.ts';
import { getAutoPurge, getPurgePeers, putAutoPurge } from './auto-purge.ts';
import { getClusterSetup, postClusterSetup } from './cluster-setup.ts';
import { answerConfig } from './config-requests.ts';
import { getIcon } from './icon.ts';
import { getLog, postLog } from './log.ts';
import { answerNode, getMembership } from './node-requests.ts';
import { getPage } from './pages.ts';
import { postRestart } from './restart.ts';
import { getStatistics } from './statistics.ts';
import { deleteTimeSeq, getTimeSeq } from './time-seq.ts';

function config(
  service: AdministrationService,
  context: Context,
  _database: string,
  rest: readonly string[],
): Promise<Answer> {
  return answerConfig(service, context, rest);
}

export const administrationHandlers = {
  config,
  node: answerNode,
  getIcon,
  getMembership,
  getPage,
  getClusterSetup,
  postClusterSetup,
  getLog,
  getStatistics,
  postLog,
  postRestart,
  getAutoPurge,
  putAutoPurge,
  getPurgePeers,
  getTimeSeq,
  deleteTimeSeq,
} satisfies PartHandlers<AdministrationService>;

export type AdministrationPart = HandlerPart<AdministrationService, keyof typeof administrationHandlers>;
