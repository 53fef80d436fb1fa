import type { DesignPrograms } from '../../design/design-programs.ts';
import type { ViewIndexes } from '../../views/contract.ts';

/** What functions of design documents are run with. */
export interface DesignService {
  readonly programs: Pick<DesignPrograms, 'open'>;
  readonly views: ViewIndexes;
}
