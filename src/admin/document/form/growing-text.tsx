import { useLayoutEffect, useRef } from 'preact/hooks';

interface GrowingTextProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly isInvalid?: boolean;
  readonly isReadOnly?: boolean;
  readonly describedBy?: string | undefined;
}

/** A text area as tall as its text, up to a good part of the window. */
export function GrowingText(props: GrowingTextProps) {
  const { label, value, onInput, isInvalid = false, isReadOnly = false, describedBy } = props;
  const element = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    let width = 0;
    const adjust = () => {
      width = current.clientWidth;
      current.style.height = 'auto';
      current.style.height = `${current.scrollHeight + current.offsetHeight - current.clientHeight}px`;
    };
    adjust();
    const observer = new ResizeObserver(() => {
      if (current.clientWidth !== width) adjust();
    });
    observer.observe(current);
    return () => observer.disconnect();
  }, [value]);
  return (
    <textarea
      ref={element}
      class="growing"
      data-part="value"
      aria-label={label}
      aria-invalid={isInvalid}
      aria-describedby={describedBy}
      rows={1}
      value={value}
      readOnly={isReadOnly}
      onInput={(event) => onInput(event.currentTarget.value)}
    />
  );
}
