"""A page that only echoes its slider: what a round trip costs before anything is computed."""

import streamlit as st

st.title("Echo")
value = st.slider("Echo", 0.0, 1.0, 0.5, 0.01)
st.html(f'<p id="answer">{value:.2f}</p>')
