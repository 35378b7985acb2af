// Draws every figure twice: for the screen in its theme, and as a light drawing that prints at the paper's width.
(async () => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const config = { displayModeBar: false, responsive: true };
  const WIDTH = 760;
  for (const figure of document.querySelectorAll("figure")) {
    const themes = JSON.parse(figure.querySelector("script").textContent);
    const screen = figure.querySelector(".screen");
    const print = figure.querySelector("img.print");
    const height = Number(figure.dataset.height);
    const draw = () => {
      const { data, layout } = structuredClone(themes[dark.matches ? "dark" : "light"]);
      return Plotly.react(screen, data, { ...layout, autosize: true, height }, config);
    };
    const { data, layout } = structuredClone(themes.light);
    print.src = await Plotly.toImage({ data, layout: { ...layout, width: WIDTH, height } },
      { format: "svg", width: WIDTH, height });
    await print.decode().catch(() => {});
    await draw();
    dark.addEventListener("change", draw);
  }
  document.documentElement.dataset.ready = "1";
})();
