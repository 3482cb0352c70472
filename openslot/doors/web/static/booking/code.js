// "Send a new code": what was entered is not sent, because the form's script does not tell which button was pressed.
document.querySelector("[name=new_code]").addEventListener("click", () => {
  document.querySelector("#email_code").value = "";
});
