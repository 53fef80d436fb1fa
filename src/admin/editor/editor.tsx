import { useEffect, useRef, useState } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import type { CodeEditor, Language, Problem } from './code-editor.ts';

interface EditorProps {
  readonly label: string;
  readonly language: Language;
  /** The text at the beginning. Another text replaces what was typed. */
  readonly text: string;
  readonly onChange?: (text: string) => void;
  readonly isReadOnly?: boolean;
  /** Lines that are in sight at least. */
  readonly lines?: number;
  /** Lines to be marked, until the text is changed. */
  readonly problems?: readonly Problem[];
  /** Strings that get a link beside them, with its address. Only in JSON. */
  readonly links?: ReadonlyMap<string, string>;
}

/** A text editor with colours and errors beside the text. It is loaded when the first one is seen. */
export function Editor(props: EditorProps) {
  const { label, language, text, onChange, isReadOnly = false, lines = 8, problems, links } = props;
  const element = useRef<HTMLDivElement>(null);
  const [failure, setFailure] = useState<unknown>(undefined);
  const latest = useRef({ text, onChange, links });
  // What was typed comes back as the text, late: that must not replace what was typed since.
  const typedTexts = useRef(new Set<string>());
  latest.current.onChange = onChange;
  latest.current.links = links;
  const editor = useRef<CodeEditor | undefined>(undefined);
  useEffect(() => {
    let isWanted = true;
    import('./code-editor.ts').then(({ CodeEditor }) => {
      if (!isWanted || element.current === null) return;
      editor.current = new CodeEditor(element.current, {
        label,
        language,
        isReadOnly,
        text: latest.current.text,
        onChange: (typed) => {
          latest.current.text = typed;
          typedTexts.current.add(typed);
          latest.current.onChange?.(typed);
        },
      });
      if (latest.current.links !== undefined) editor.current.linkIds(latest.current.links);
    }, setFailure);
    return () => {
      isWanted = false;
      editor.current?.close();
      editor.current = undefined;
    };
  }, [label, language, isReadOnly]);
  useEffect(() => {
    if (latest.current.text === text) typedTexts.current.clear();
    if (latest.current.text === text || typedTexts.current.has(text)) return;
    typedTexts.current.clear();
    latest.current.text = text;
    editor.current?.replace(text);
  }, [text]);
  useEffect(() => {
    if (problems !== undefined) editor.current?.mark(problems);
  }, [problems]);
  useEffect(() => {
    if (links !== undefined) editor.current?.linkIds(links);
  }, [links]);
  const height = `${lines * 19 + 12}px`;
  return (
    <>
      <ErrorNote failure={failure} />
      <div class="editor" ref={element} style={{ '--editor-height': height, minHeight: height }} />
    </>
  );
}
