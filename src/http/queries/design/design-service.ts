import type { DesignPrograms } from '../../../queries/design/design-programs.ts';
import type { ViewIndexes } from '../../../queries/views/contract.ts';

/** What functions of design documents are run with. */
export interface DesignService {
  readonly programs: Pick<DesignPrograms, 'open'>;
  readonly views: ViewIndexes;
}
