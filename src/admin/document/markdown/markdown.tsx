/** Markdown as elements of the page. They are made from parsed text, never from HTML. */
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { hrefOf } from '../../page/router.ts';
import { base } from '../../server/client.ts';
import { type Attachment, attachmentPath } from '../../server/document.ts';
import { type Block, parseMarkdown } from './blocks.ts';
import type { Inline } from './inlines.ts';
import { targetOf } from './targets.ts';

interface Surroundings {
  readonly database: string;
  /** The document's id. */
  readonly id: string;
  /** Only these are shown as images. */
  readonly attachments: readonly Attachment[];
  readonly knownIds: ReadonlyMap<string, string>;
}

/** Characters that are shown. */
const MAX_CHARACTERS = 50_000;

export function Markdown({ text, ...around }: Surroundings & { readonly text: string }) {
  const blocks = useMemo(() => parseMarkdown(text.slice(0, MAX_CHARACTERS)), [text]);
  return (
    <div class="markdown">
      <Blocks blocks={blocks} around={around} />
      {text.length > MAX_CHARACTERS && <p class="muted">The rest of the text is not shown here.</p>}
    </div>
  );
}

function Blocks({ blocks, around }: { readonly blocks: readonly Block[]; readonly around: Surroundings }) {
  return (
    <>
      {blocks.map((block, at) => (
        <OneBlock key={`${at} ${block.kind}`} block={block} around={around} />
      ))}
    </>
  );
}

function OneBlock({ block, around }: { readonly block: Block; readonly around: Surroundings }) {
  switch (block.kind) {
    case 'heading':
      // Not h1 to h6: they would mix with the page's own.
      return (
        <p class={`markdown-heading level-${block.level}`}>
          <Inlines inlines={block.content} around={around} />
        </p>
      );
    case 'paragraph':
      return (
        <p>
          <Inlines inlines={block.content} around={around} />
        </p>
      );
    case 'code':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard
        <pre class="code" tabIndex={0}>
          {block.text}
        </pre>
      );
    case 'quote':
      return (
        <blockquote>
          <Blocks blocks={block.blocks} around={around} />
        </blockquote>
      );
    case 'rule':
      return <hr />;
    case 'list':
      return <List start={block.start} items={block.items} around={around} />;
  }
}

interface ListProps {
  readonly start: number | undefined;
  readonly items: readonly (readonly Block[])[];
  readonly around: Surroundings;
}

function List({ start, items, around }: ListProps) {
  const rows = items.map((blocks, at) => (
    <li key={`${at}`}>
      <Blocks blocks={blocks} around={around} />
    </li>
  ));
  return start === undefined ? <ul>{rows}</ul> : <ol start={start}>{rows}</ol>;
}

function Inlines({ inlines, around }: { readonly inlines: readonly Inline[]; readonly around: Surroundings }) {
  return (
    <>
      {inlines.map((inline, at) => (
        <OneInline key={`${at} ${inline.kind}`} inline={inline} around={around} />
      ))}
    </>
  );
}

function OneInline({ inline, around }: { readonly inline: Inline; readonly around: Surroundings }) {
  switch (inline.kind) {
    case 'text':
      return <>{inline.text}</>;
    case 'code':
      return <code>{inline.text}</code>;
    case 'break':
      return <br />;
    case 'strong':
      return (
        <strong>
          <Inlines inlines={inline.content} around={around} />
        </strong>
      );
    case 'emphasis':
      return (
        <em>
          <Inlines inlines={inline.content} around={around} />
        </em>
      );
    case 'link':
      return (
        <Link target={inline.target} around={around}>
          <Inlines inlines={inline.content} around={around} />
        </Link>
      );
    case 'image':
      return <Image target={inline.target} alt={inline.alt} around={around} />;
  }
}

interface LinkProps {
  readonly target: string;
  readonly around: Surroundings;
  readonly children: ComponentChildren;
}

function Link({ target, around, children }: LinkProps) {
  const found = targetOf(target, (id) => around.knownIds.has(id));
  if (found === undefined) return <span title={`Not followed: ${target}`}>{children}</span>;
  if (found.kind === 'document') return <a href={hrefOf(['db', around.database, 'document', found.id])}>{children}</a>;
  return (
    <a href={found.href} target="_blank" rel="noopener noreferrer" title={found.href}>
      {children}
    </a>
  );
}

interface ImageProps {
  readonly target: string;
  readonly alt: string;
  readonly around: Surroundings;
}

function Image({ target, alt, around: { database, id, attachments } }: ImageProps) {
  const name = attachments.find((one) => one.name === target || encodeURI(one.name) === target)?.name;
  if (name === undefined)
    return <span class="muted">[image: {alt || target}, not an attachment of this document]</span>;
  return <img src={new URL(attachmentPath(database, id, name), base).href} alt={alt || name} loading="lazy" />;
}
