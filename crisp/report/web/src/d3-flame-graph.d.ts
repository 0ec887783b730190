// The part of d3-flame-graph 5.0.0 that is used; the package brings no types.
declare module "d3-flame-graph" {
  import type { Selection } from "d3-selection";

  /** What d3-hierarchy makes of one datum; the library lays it out between x0 and x1. */
  export interface FlameNode<D> {
    data: D;
    value: number;
    parent: FlameNode<D> | null;
    each(visit: (node: FlameNode<D>) => void): void;
  }

  export interface Tooltip<D> {
    (svg: unknown): void;
    show(event: MouseEvent, node: FlameNode<D>): void;
    hide(): void;
  }

  export interface FlameGraph<D> {
    (selection: Selection<HTMLElement, D, null, undefined>): void;
    width(): number;
    width(pixels: number): this;
    height(pixels: number): this;
    cellHeight(pixels: number): this;
    minFrameSize(pixels: number): this;
    inverted(yes: boolean): this;
    sort(how: boolean): this;
    transitionDuration(milliseconds: number): this;
    tooltip(tooltip: Tooltip<D>): this;
    getName(name: (node: FlameNode<D>) => string): this;
    setLabelHandler(label: (node: FlameNode<D>) => string): this;
    setColorMapper(color: (node: FlameNode<D>, original: string) => string): this;
    onClick(handler: (node: FlameNode<D>) => void): this;
    zoomTo(node: FlameNode<D>): void;
    update(data?: D): this;
  }

  export default function flamegraph<D>(): FlameGraph<D>;
}
