/** List functions: the rows of a view, or of `_all_docs`, in any form (docs/http/functions.md#list-functions). */
import { DatabaseError } from '../../../base/errors/database-error.ts';
import { TimeSlice } from '../../../base/shared/turn.ts';
import type { RowSource } from '../../../queries/sandbox/contract.ts';
import type { DesignDocument } from '../../../queries/views/contract.ts';
import { readDesign } from '../../documents/design-document.ts';
import { AllDocuments } from '../../documents/lists/all-documents.ts';
import { isLongRow, type RowBatch } from '../../documents/lists/document-list.ts';
import { readList } from '../../documents/lists/list-text.ts';
import { parseBody, readText, toObject } from '../../request/bodies.ts';
import type { Answer, Context } from '../../request/context.ts';
import { parseListParameters, readQueryValues } from '../../request/list-parameters.ts';
import { type SnapshotLease, withSnapshot, withSnapshotLease } from '../../request/snapshot-lease.ts';
import { matchesTag, notModified, tagOf } from '../../response/responses.ts';
import { streamedBody } from '../../response/streams.ts';
import { CALLED_WITH } from '../../shown/long-document.ts';
import { type ViewGroupLease, withDesignGroup } from '../views/view-group-lease.ts';
import { toReduceOptions } from '../views/view-parameters.ts';
import { openSource, readViewQuery, tagInputs, type ViewQuery } from '../views/view-query.ts';
import { groupTexts, rowTexts, type ViewSource } from '../views/view-text.ts';
import type { DesignService } from './design-service.ts';
import { functionAnswer, hasNoBody, requesterOf } from './function-answer.ts';
import { functionRequest } from './function-request.ts';

/** What a list function runs on. */
interface ListSubject {
  readonly design: DesignDocument;
  readonly functionName: string;
  readonly body: string | undefined;
}

/** Rows that wait to be read, and the head that the function gets before them. */
interface ListRows {
  /** JSON text. */
  readonly head: string;
  readonly batches: AsyncIterable<RowBatch>;
  readonly tagInputs: readonly (string | number)[];
}

const ALL_DOCS = '_all_docs';
/** The default content type of a list. */
const DEFAULT_TYPE = 'application/json';

/** `rest`: design document, function, and a view of the same or of another design document. */
export async function list(
  service: DesignService,
  context: Context,
  name: string,
  rest: readonly string[],
): Promise<Answer> {
  const [designName = '', functionName, first, second, ...others] = rest;
  if (functionName === undefined || first === undefined || others.length > 0) {
    throw new DatabaseError('list_error', 'Bad path.');
  }
  const design = await withSnapshot(context, name, (snapshot) => readDesign(snapshot, designName));
  const body = ['POST', 'QUERY'].includes(context.method) ? await readText(context) : undefined;
  const subject = { design, functionName, body };
  if (second === undefined && first === ALL_DOCS) {
    return withSnapshotLease(context, name, (lease) => answerDocuments(service, context, lease, subject));
  }
  const [viewDesign, view] = second === undefined ? [designName, first] : [first, second];
  return withDesignGroup(service.views, context, name, viewDesign, async (lease) => {
    const query = await readViewQuery(context, lease, view, body);
    const source = await openSource(lease, view, query.parameters);
    const rows = await viewRows(lease, source, query);
    return answer(service, context, { database: lease.database, release: lease.release }, subject, rows);
  });
}

async function answerDocuments(
  service: DesignService,
  context: Context,
  lease: SnapshotLease,
  subject: ListSubject,
): Promise<Answer> {
  const { database, snapshot } = lease;
  const given = subject.body === undefined ? [] : Object.entries(toObject(await parseBody(context, subject.body)));
  const parameters = parseListParameters([...(await readQueryValues(context)), ...given]);
  const list = new AllDocuments(snapshot, parameters);
  const { head, rows } = await readList(list, parameters, snapshot.updateSeq);
  const { uuid, instanceStartTime } = database;
  const inputs = [uuid, instanceStartTime, snapshot.updateSeq, snapshot.purgeSeq, context.search, subject.body ?? ''];
  return answer(service, context, lease, subject, { head: JSON.stringify(head), batches: rows, tagInputs: inputs });
}

/** The head of reductions is empty. */
async function viewRows(lease: ViewGroupLease, source: ViewSource, query: ViewQuery): Promise<ListRows> {
  const { parameters } = query;
  const inputs = tagInputs(lease, source, query);
  const options = toReduceOptions(parameters);
  if (parameters.isReduced) {
    return { head: '{}', batches: groupTexts(source.reader.reduce(source.view, options)), tagInputs: inputs };
  }
  const { totalRows, offset, rows } = await source.reader.rows(source.view, options);
  const seq = parameters.updateSeq ? { update_seq: source.reader.updateSeq } : {};
  const head = JSON.stringify({ total_rows: totalRows, offset, ...seq });
  return { head, batches: rowTexts(source, rows, parameters), tagInputs: inputs };
}

/** If the function fails before its first chunk has been sent, the failure has its own status; later the response breaks off. */
async function answer(
  service: DesignService,
  context: Context,
  { database, release }: Pick<SnapshotLease, 'database' | 'release'>,
  { design, functionName, body }: ListSubject,
  { head, batches, tagInputs: inputs }: ListRows,
): Promise<Answer> {
  const tag = await tagOf([...inputs, design.id, design.rev, ...requesterOf(context, database)]);
  if (matchesTag(context.header('if-none-match'), tag)) {
    release();
    return notModified(tag);
  }
  const program = await service.programs.open(database, design);
  const request = await functionRequest(context, database, null, body);
  const made = await program.list(functionName, head, request, rowSource(context, batches));
  const end = () => {
    made.close();
    release();
  };
  const { code, headers } = made;
  const defaults = { code: 200, type: DEFAULT_TYPE, headers: { vary: 'Accept', etag: tag } };
  if (hasNoBody(code)) {
    end();
    return functionAnswer(context.services.config, { code, headers, body: null }, defaults);
  }
  const text = await streamedBody(context, made.chunks(), end);
  return functionAnswer(context.services.config, { code, headers, body: text }, defaults);
}

function rowSource(context: Context, batches: AsyncIterable<RowBatch>): RowSource {
  /** Characters of the longest row so far, which count until the request has been answered. */
  let longest = 0;
  const timeSlice = new TimeSlice();
  const whole = async (pieces: AsyncIterable<string>): Promise<string> => {
    let text = '';
    for await (const piece of pieces) {
      if (timeSlice.isDue) await timeSlice.rest();
      const more = text.length + piece.length - longest;
      if (more > 0) await context.holdBytes(more * CALLED_WITH);
      longest += Math.max(0, more);
      text += piece;
    }
    return text;
  };
  const iterator = batches[Symbol.asyncIterator]();
  return {
    next: async () => {
      for (;;) {
        const step = await iterator.next();
        if (step.done === true) return undefined;
        if (isLongRow(step.value)) return `[${await whole(step.value.pieces)}]`;
        if (step.value.length > 0) return `[${step.value.join(',')}]`;
      }
    },
    // The iterator waits for its current step; no caller has to.
    close: () => void iterator.return?.().catch(() => undefined),
  };
}
