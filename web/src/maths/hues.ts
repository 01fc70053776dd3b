/** Colours of curves, distinguishable for colour-blind readers by lightness too (those of airshed.plot.style). */
export const HUES = ["#c8443c", "#2a6fad", "#3f8f5b", "#8858a6", "#c9852b", "#5f6b7a"];
