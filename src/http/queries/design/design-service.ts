import type { DesignPrograms } from '../../../queries/design/design-programs.ts';
import type { ViewIndexes } from '../../../queries/views/contract.ts';

/** What is needed to run functions of design documents. */
export interface DesignService {
  readonly programs: Pick<DesignPrograms, 'open'>;
  readonly views: ViewIndexes;
}
