// A chart of the page as a file: with its styles, which the page has in a style sheet.

const STYLES = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap", "stroke-opacity", "opacity",
  "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline", "display",
];
const MARGIN = 8;

/** Return the text of an SVG file of a chart, with its name as title. */
export function svgText(chart: SVGSVGElement, name: string): string {
  const copy = chart.cloneNode(true) as SVGSVGElement;
  const [originals, copies] = [chart, copy].map((each) => [each, ...each.querySelectorAll<SVGElement>("*")]);
  originals?.forEach((each, k) => {
    const style = getComputedStyle(each);
    for (const name of STYLES) copies?.[k]?.setAttribute(name, style.getPropertyValue(name));
    copies?.[k]?.removeAttribute("class");
    copies?.[k]?.removeAttribute("style");
  });
  copy.removeAttribute("aria-hidden");
  for (const each of ["width", "height"]) copy.removeAttribute(each);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const [x = 0, y = 0, width = 0, height = 0] = (chart.getAttribute("viewBox") ?? "").split(/\s+/).map(Number);
  copy.setAttribute("viewBox", [x - MARGIN, y - MARGIN, width + 2 * MARGIN, height + 2 * MARGIN].join(" "));
  const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
  title.textContent = name;
  copy.prepend(title, background(chart, x, y, width, height));
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
}

function background(chart: SVGSVGElement, x: number, y: number, width: number, height: number): SVGRectElement {
  const rectangle = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  const box = { x: x - MARGIN, y: y - MARGIN, width: width + 2 * MARGIN, height: height + 2 * MARGIN };
  for (const [name, value] of Object.entries(box)) rectangle.setAttribute(name, String(value));
  rectangle.setAttribute("fill", getComputedStyle(chart.closest(".dock") ?? document.body).backgroundColor);
  return rectangle;
}
