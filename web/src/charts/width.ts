// Width of an element in CSS pixels, which follows the dock.
import { useSignal, type ReadonlySignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";

const FIRST = 318;

export function useWidth(of: RefObject<HTMLElement | null>): ReadonlySignal<number> {
  const width = useSignal(FIRST);
  useEffect(() => {
    const element = of.current;
    if (!element) return;
    const watch = new ResizeObserver(() => {
      if (element.clientWidth > 0) width.value = Math.round(element.clientWidth);
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return width;
}
