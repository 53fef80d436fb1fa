/** All replications, one of them, a form for a new one, or the document of one: what the address names. */
import { route } from '../page/router.ts';
import { EditReplication } from './edit-replication.tsx';
import { ReplicationForm } from './replication-form.tsx';
import { ReplicationList } from './replication-list.tsx';
import { ReplicationPage } from './replication-page.tsx';
import './replication.css';

export function Replication() {
  const { segments, query } = route.value;
  const [, docId] = segments;
  const jobId = query.get('job') ?? undefined;
  if (docId !== undefined && query.has('edit')) return <EditReplication key={docId} docId={docId} />;
  if (docId !== undefined || jobId !== undefined) {
    return <ReplicationPage key={`${docId} ${jobId}`} docId={docId} jobId={jobId} />;
  }
  return query.has('new') ? <ReplicationForm /> : <ReplicationList />;
}
