import { formatAgo } from '../components/format.ts';

/** `5 min ago`, with the server's text as a hint. */
export function Time({ text }: { readonly text: string }) {
  const at = Date.parse(text);
  if (Number.isNaN(at)) return <>{text}</>;
  return (
    <time dateTime={text} title={text}>
      {formatAgo(at)}
    </time>
  );
}
