/** Shows what the form means, and starts it. */
import { goTo } from '../page/router.ts';
import { review } from '../review/review.tsx';
import { ask, type JsonObject, pathOf, type ServerRequest } from '../server/client.ts';
import { hasReplicatorDatabase } from '../server/replication.ts';
import { textOf } from '../server/replications.ts';
import { isAdmin, server } from '../server/session.ts';
import { isBrowser } from '../server/where.ts';
import { type FormValues, membersOf, requestOf } from './form-values.ts';
import { describeEndpoint, hasSecrets, maskSecrets } from './secrets.ts';
import { startRequest } from './sent-requests.ts';

/** `started` is called when the server has accepted it. */
export async function reviewStart(values: FormValues, started: () => void): Promise<void> {
  const members = membersOf(values);
  const needsDatabase = values.isDocument && !(await canTakeDocuments());
  const createDatabase: ServerRequest = { method: 'PUT', path: pathOf('_replicator') };
  review({
    title: 'Start a replication',
    effects: effectsOf(values, members, needsDatabase),
    requests: [...(needsDatabase ? [createDatabase] : []), requestOf(values, maskSecrets(members))],
    action: 'Start',
    apply: async () => {
      if (needsDatabase && !(await hasReplicatorDatabase())) await ask('PUT', createDatabase.path);
      await (values.isDocument ? storeDocument(values, members) : sendRequest(members));
      started();
    },
  });
}

/** Settee makes the database with the first document that an admin writes. */
async function canTakeDocuments(): Promise<boolean> {
  return (server.value?.isSettee === true && isAdmin.value) || hasReplicatorDatabase();
}

async function storeDocument(values: FormValues, members: JsonObject): Promise<void> {
  const { method, path } = requestOf(values, members);
  const { id } = await ask(method, path, { json: members, quiet: hasSecrets(members) });
  goTo(['replication', textOf(id) ?? values.docId]);
}

async function sendRequest(members: JsonObject): Promise<void> {
  const result = await startRequest(members);
  const jobId = textOf(result?._local_id);
  goTo(['replication'], jobId === undefined ? {} : { job: jobId });
}

function effectsOf(values: FormValues, members: JsonObject, needsDatabase: boolean): readonly string[] {
  const { isDocument, isContinuous, createTarget, which } = values;
  const what = {
    all: 'All documents',
    selector: 'The documents that match the selector',
    ids: 'The named documents',
    filter: `What the filter function ${values.filter} passes`,
  }[which];
  const [source, target] = [describeEndpoint(members.source), describeEndpoint(members.target)];
  return [
    `${what} of ${source}, with their conflicts, deletions and attachments, are copied to ${target}, as far as it lacks them. Nothing is removed from ${source}.`,
    ...(createTarget ? [`${target} is created if it does not exist.`] : []),
    isContinuous
      ? `It goes on with each change until ${isDocument ? 'the document is deleted' : `it is cancelled or ${isBrowser.value ? 'the app is closed' : 'the server stops'}`}.`
      : 'It ends when everything is copied.',
    ...optionEffects(values),
    ...(needsDatabase ? ['The database _replicator does not exist yet, and is created first.'] : []),
    ...(hasSecrets(members) ? [passwordEffect(isDocument)] : []),
  ];
}

function optionEffects({ since, usesCheckpoints, proxy }: FormValues): readonly string[] {
  return [
    ...(since === '' ? [] : [`Changes of the source up to ${since} are skipped, whatever was copied before.`]),
    ...(usesCheckpoints ? [] : ['Nothing remembers how far it came: each start compares all changes again.']),
    ...(proxy === '' ? [] : ['Connections to other servers go through the proxy.']),
  ];
}

function passwordEffect(isDocument: boolean): string {
  const shown = 'Passwords are shown here as PASSWORD, and left out of the console.';
  return isDocument ? `${shown} The document keeps them: admins can read them there.` : shown;
}
